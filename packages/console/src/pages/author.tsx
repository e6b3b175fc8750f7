import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AuthoredCapability, AuthorFault, AuthorFile } from '../data.ts';
import { clock } from '../format.ts';
import { Fresh } from '../parts/fresh.tsx';
import { NameChoice } from '../parts/name-choice.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../poll.ts';

/** The capability file as `svc-agent dev` has checked it last, and what it says of one capability. */
export function AuthorPage(): JSX.Element {
  const polled = usePolled<AuthorFile>('author');
  const [name, setName] = useState('');
  return (
    <>
      <h1>File</h1>
      <Fresh polled={polled}>
        {(data) => {
          const { capabilities } = data;
          const chosen = capabilities.find((each) => each.name === name) ?? capabilities[0];
          return (
            <>
              <Verdict {...data} />
              {data.faults.length > 0 && <Faults {...data} />}
              {chosen !== undefined && (
                <>
                  <h2>Capability</h2>
                  <NameChoice
                    id="authored"
                    label="Name"
                    names={capabilities.map((each) => each.name)}
                    chosen={chosen.name}
                    onChosen={setName}
                  />
                  <Details key={chosen.name} name={chosen.name} />
                </>
              )}
              <h2>Lint</h2>
              {data.lint === undefined ? (
                <p class="muted">{data.lint_problem ?? 'not yet known'}</p>
              ) : (
                <Findings {...data} />
              )}
            </>
          );
        }}
      </Fresh>
    </>
  );
}

function Verdict(data: AuthorFile): JSX.Element {
  return (
    <>
      <p role="status">
        <code>{data.file}</code>: {verdictOf(data)} at {clock(data.checked_at)}
      </p>
      {data.url !== undefined && (
        <p class="muted">
          Calls go to <code>{data.url}</code>
        </p>
      )}
    </>
  );
}

function verdictOf({ accepted, fault_count: faults, url }: AuthorFile): string {
  if (accepted) return url === undefined ? 'accepted' : 'accepted and served';
  const many = faults === 1 ? '1 fault' : `${faults} faults`;
  return `refused for ${many}${url === undefined ? '' : '; what was there before is served on'}, checked`;
}

function Faults({ faults, fault_count: count }: AuthorFile): JSX.Element {
  return (
    <section class="warnings" aria-label="Faults">
      <ul>
        {faults.map((each, at) => (
          <li key={at}>
            <strong>{placeOf(each)}</strong> <span dir="auto">{`${each.path}: ${each.message}`}</span>
            {each.excerpt !== undefined && (
              <pre class="scroll" tabIndex={0}>
                {each.excerpt}
              </pre>
            )}
            {each.detail !== undefined && <p dir="auto">{each.detail}</p>}
          </li>
        ))}
      </ul>
      {count > faults.length && <p>And {count - faults.length} more.</p>}
    </section>
  );
}

function Findings({ lint: findings = [], lint_count: count = 0 }: AuthorFile): JSX.Element {
  if (findings.length === 0) return <p class="muted">Nothing to say.</p>;
  return (
    <>
      <Table name="Findings" heads={['Line', 'Level', 'Rule', 'What']}>
        {findings.map((each, at) => (
          <tr key={at}>
            <td>{each.line ?? '–'}</td>
            <td>{each.level}</td>
            <td>{each.rule}</td>
            <td dir="auto">{`${each.path}: ${each.message}`}</td>
          </tr>
        ))}
      </Table>
      {count > findings.length && (
        <p class="muted">
          And {count - findings.length} more: <code>svc-agent lint</code>
        </p>
      )}
    </>
  );
}

function Details({ name }: { readonly name: string }): JSX.Element {
  const polled = usePolled<AuthoredCapability>(`author?name=${encodeURIComponent(name)}`);
  return <Fresh polled={polled}>{(data) => <Authored {...data} />}</Fresh>;
}

function Authored(data: AuthoredCapability): JSX.Element {
  const { name, params, orders, result, limits, plan, examples } = data;
  const isAssembled = orders !== undefined || params.some(({ filter }) => filter !== undefined);
  return (
    <>
      <p dir="auto">{data.description === '' ? 'It has no description.' : data.description}</p>
      <p class="muted">
        Line {data.line}. Limits: {limits['max_rows']} {limits['max_rows'] === 1 ? 'row' : 'rows'},{' '}
        {limits['max_bytes']} bytes, {limits['timeout_ms']} ms.
      </p>
      <Text title={`SQL, line ${data.sql_line}`} text={data.sql} />
      <Text
        title={isAssembled ? 'Plan, with all filters, in the first order' : 'Plan, for any parameters'}
        text={plan?.join('\n') ?? data.plan_problem ?? 'not yet known'}
      />
      {params.length > 0 && (
        <Fields
          title="Parameters"
          fields={params.map((param) => [
            param.name,
            param.required ? 'required' : 'may be left out',
            JSON.stringify(param.schema),
            [
              param.from === undefined ? '' : `from ${param.from}`,
              param.filter === undefined ? '' : `filter ${param.filter}`,
              param.description ?? '',
            ]
              .filter((part) => part !== '')
              .join(': '),
          ])}
        />
      )}
      {orders !== undefined && (
        <Text
          title="Orders"
          text={Object.entries(orders)
            .map((order) => order.join(': '))
            .join('\n')}
        />
      )}
      <Fields
        title="Result"
        fields={result.map((field) => [
          field.name,
          field.nullable ? 'may be null' : 'never null',
          field.type,
          field.description ?? '',
        ])}
      />
      <h3>Examples</h3>
      {examples.length === 0 ? (
        <p class="muted">It has none.</p>
      ) : (
        <>
          <ul>
            {examples.map((example) => (
              <li key={example.line}>
                Line {example.line}: <code dir="auto">{JSON.stringify(example.params)}</code> gives{' '}
                <code dir="auto">{JSON.stringify(example.expect)}</code>
              </li>
            ))}
          </ul>
          <p>
            Whether they hold: <code>svc-agent test {name}</code>
          </p>
        </>
      )}
    </>
  );
}

function Text({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <>
      <h3>{title}</h3>
      <pre class="scroll" tabIndex={0} role="region" aria-label={title}>
        {text}
      </pre>
    </>
  );
}

function Fields(props: {
  readonly title: string;
  readonly fields: readonly (readonly string[])[];
}): JSX.Element {
  return (
    <>
      <h3>{props.title}</h3>
      <Table name={props.title}>
        {props.fields.map(([name, need, type, about]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{need}</td>
            <td>
              <code>{type}</code>
            </td>
            <td dir="auto">{about}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function placeOf({ line, column }: AuthorFault): string {
  return line === undefined ? 'In the file' : `Line ${line}:${column ?? 1}`;
}
