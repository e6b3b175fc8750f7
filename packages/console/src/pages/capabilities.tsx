import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { base } from '../base.ts';
import { bodyOf, initialInputs, type Inputs, type Next } from '../body.ts';
import { capabilitiesOf, type Capability, type OpenApi } from '../openapi.ts';
import { Copied } from '../parts/copied.tsx';
import { KeyForm } from '../parts/key-form.tsx';
import { NameChoice } from '../parts/name-choice.tsx';
import { Notice } from '../parts/fresh.tsx';
import { ParamField } from '../parts/param-field.tsx';
import { Result, type Outcome, type Page } from '../parts/result.tsx';
import { apiKey, headersFor, isOperator } from '../session.ts';
import { snippets } from '../snippets.ts';

interface Described {
  readonly url: string;
  readonly capabilities: readonly Capability[];
}

export function CapabilitiesPage(): JSX.Element {
  const [described, setDescribed] = useState<Described>();
  const [fault, setFault] = useState<string>();
  const [name, setName] = useState('');
  const key = apiKey.value;

  useEffect(() => {
    setDescribed(undefined);
    setFault(undefined);
    if (key === '') return undefined;
    let isOver = false;
    async function describe(): Promise<void> {
      const next = await fetchDescription().catch(String);
      // Of a key that was forgotten meanwhile nothing is shown.
      if (isOver) return;
      if (typeof next === 'string') setFault(next);
      else setDescribed(next);
    }
    void describe();
    return () => {
      isOver = true;
    };
  }, [key]);

  const chosen =
    described?.capabilities.find((candidate) => candidate.name === name) ?? described?.capabilities[0];
  return (
    <>
      <h1>Capabilities</h1>
      {key === '' || fault !== undefined ? (
        <KeyForm
          onKey={(next) => {
            setFault(undefined);
            apiKey.value = next;
          }}
        />
      ) : (
        <p>
          <button type="button" onClick={() => (apiKey.value = '')}>
            Forget the key
          </button>
        </p>
      )}
      {key !== '' && described === undefined && <Notice fault={fault} />}
      {described !== undefined && chosen === undefined && <p role="status">This key may call nothing.</p>}
      {described !== undefined && chosen !== undefined && (
        <>
          <NameChoice
            id="capability"
            label="Capability"
            names={described.capabilities.map((capability) => capability.name)}
            chosen={chosen.name}
            onChosen={setName}
          />
          <CallForm key={chosen.name} capability={chosen} url={described.url} />
        </>
      )}
    </>
  );
}

/** What is shown of a call, with the arguments that its pages share. */
interface Shown extends Page {
  readonly inputs: Inputs;
}

function CallForm({
  capability,
  url,
}: {
  readonly capability: Capability;
  readonly url: string;
}): JSX.Element {
  const { path, params, description, tokens, example } = capability;
  const [inputs, setInputs] = useState(() => initialInputs(params, example));
  const [shown, setShown] = useState<Shown>();
  const [isRunning, setIsRunning] = useState(false);

  async function run(): Promise<void> {
    if (isRunning) return;
    setIsRunning(true);
    setShown({ inputs, number: 1, outcome: await call(path, bodyOf(params, inputs)) });
    setIsRunning(false);
  }

  /** With the arguments of the rows that are shown, whatever the form says by now. */
  async function turn(from: Shown, number: number, next?: Next): Promise<void> {
    if (isRunning) return;
    setIsRunning(true);
    setShown({ ...from, missed: undefined });
    const outcome = await call(path, bodyOf(params, from.inputs, next));
    setShown(
      outcome.status === 200
        ? { inputs: from.inputs, number, outcome }
        : { ...from, missed: { number, outcome } },
    );
    setIsRunning(false);
  }

  return (
    <>
      <p dir="auto">{description}</p>
      <p class="muted">Some {tokens} tokens to a model.</p>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {params.map((param) => (
          <ParamField
            key={param.name}
            param={param}
            sent={inputs[param.name] ?? { kind: 'absent' }}
            onSent={(sent) => setInputs({ ...inputs, [param.name]: sent })}
          />
        ))}
        {/* Disabled, it would lose the focus. */}
        <button type="submit" aria-disabled={isRunning}>
          Run
        </button>
      </form>
      {shown !== undefined && (
        <Result {...shown} isRunning={isRunning} onTurn={(number, next) => void turn(shown, number, next)} />
      )}
      <Copied texts={snippets(url, path, bodyOf(params, inputs))} />
    </>
  );
}

async function fetchDescription(): Promise<Described> {
  const response = await fetch(`${base}openapi.json`, { headers: headersFor({ 'X-API-Key': apiKey.value }) });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message);
  const document: OpenApi = body;
  const [server] = document.servers ?? [];
  // The console of operators is no place that callers reach.
  const fallback = isOperator ? '$URL' : `${location.origin}${base}`.replace(/\/$/, '');
  const url = server !== undefined && /^https?:/.test(server.url) ? server.url.replace(/\/$/, '') : fallback;
  return { url, capabilities: capabilitiesOf(document) };
}

async function call(path: string, body: string): Promise<Outcome> {
  const started = performance.now();
  try {
    const headers = headersFor({ 'X-API-Key': apiKey.value, 'Content-Type': 'application/json' });
    const response = await fetch(`${base}${path.slice(1)}`, { method: 'POST', headers, body });
    const text = await response.text();
    return { status: response.status, text, ms: performance.now() - started };
  } catch {
    const error = { code: 'no answer', message: 'the gateway does not answer' };
    return { status: 0, text: JSON.stringify({ error }), ms: performance.now() - started };
  }
}
