import type { JSX } from 'preact';
import type { Sent } from '../body.ts';
import type { Param } from '../openapi.ts';

interface Props {
  readonly param: Param;
  readonly sent: Sent;
  readonly onSent: (sent: Sent) => void;
}

/** One parameter: its value, and for one that may be left out whether it is sent at all. */
export function ParamField({ param, sent, onSent }: Props): JSX.Element {
  const { name, isRequired, type, schema } = param;
  const id = `param-${name}`;
  const about = [
    schema.format ?? type,
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
  return (
    <div class="field">
      <label for={id}>
        {name}
        {isRequired && <span aria-hidden="true"> *</span>}
      </label>
      <Value {...{ id, param, sent, onSent }} />
      {!isRequired && (
        <select
          aria-label={`What is sent of ${name}`}
          value={sent.kind}
          onChange={({ currentTarget }) => {
            const kind = currentTarget.value;
            if (kind === 'value') onSent({ kind, text: defaultOf(schema) });
            else onSent({ kind: kind === 'null' ? 'null' : 'absent' });
          }}
        >
          <option value="absent">not sent</option>
          <option value="null">null</option>
          <option value="value">value</option>
        </select>
      )}
      <small id={`${id}-about`} dir="auto">
        {about}
        {schema.description === undefined ? '' : `: ${schema.description}`}
      </small>
    </div>
  );
}

function Value({ id, param, sent, onSent }: Props & { readonly id: string }): JSX.Element {
  const { isRequired, type, schema } = param;
  const common = {
    id,
    'aria-describedby': `${id}-about`,
    required: isRequired,
    value: sent.kind === 'value' ? sent.text : '',
  };
  const take = (text: string): void => onSent({ kind: 'value', text });
  const choices = type === 'boolean' ? [true, false] : schema.enum?.filter((choice) => choice !== null);
  if (choices !== undefined) {
    const value = sent.kind === 'absent' ? defaultOf(schema) : common.value;
    return (
      <select {...common} value={value} onChange={({ currentTarget }) => take(currentTarget.value)}>
        {value === '' && (
          <option value="" disabled>
            {isRequired ? 'choose' : ''}
          </option>
        )}
        {choices.map((choice) => (
          <option key={textOf(choice)} value={textOf(choice)}>
            {textOf(choice)}
          </option>
        ))}
      </select>
    );
  }
  if (type === 'array' || type === 'object') {
    return (
      <textarea {...common} rows={3} dir="auto" onInput={({ currentTarget }) => take(currentTarget.value)} />
    );
  }
  return (
    <input
      {...common}
      // An empty text is a text.
      required={isRequired && type !== 'string'}
      inputMode={type === 'integer' ? 'numeric' : type === 'number' ? 'decimal' : undefined}
      autocomplete="off"
      dir="auto"
      onInput={({ currentTarget }) => take(currentTarget.value)}
    />
  );
}

function defaultOf({ default: value }: Param['schema']): string {
  return value === undefined || value === null ? '' : textOf(value);
}

function textOf(choice: unknown): string {
  return typeof choice === 'string' ? choice : JSON.stringify(choice);
}
