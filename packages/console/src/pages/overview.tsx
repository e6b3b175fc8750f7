import type { JSX } from 'preact';
import type { Overview } from '../data.ts';
import { milliseconds, percent, rate } from '../format.ts';
import { LineChart } from '../parts/line-chart.tsx';
import { Fresh } from '../parts/fresh.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { usePolled } from '../poll.ts';
import { Table } from '../parts/table.tsx';

export function OverviewPage(): JSX.Element {
  const polled = usePolled<Overview>('overview');
  return (
    <>
      <h1>Overview</h1>
      <Fresh polled={polled}>{(data) => <Figures {...data} />}</Fresh>
    </>
  );
}

function Figures(data: Overview): JSX.Element {
  const { series, step_s: step } = data;
  const newest = Math.floor(Date.parse(data.now) / 1000 / step) * step;
  const times = series.calls.map((_, at) => newest - (series.calls.length - 1 - at) * step);
  return (
    <>
      <dl class="figures">
        <Figure name="Calls" value={rate(data.rate_per_s)} />
        <Figure name="p95" value={milliseconds(data.p95_ms)} />
        <Figure name="Errors" value={percent(data.error_ratio)} />
        <Figure name="Agents" value={String(data.agents)} />
      </dl>
      {data.warnings.length > 0 && (
        <section class="warnings" aria-label="Warnings">
          <ul>
            {data.warnings.map((warning) => (
              <li key={warning} dir="auto">
                {warning}
              </li>
            ))}
          </ul>
        </section>
      )}
      <div class="charts">
        <LineChart
          title="Calls and errors a second"
          times={times}
          lines={[
            { label: 'Calls', values: series.calls.map((count) => count / step) },
            { label: 'Errors', values: series.errors.map((count) => count / step) },
          ]}
        />
        <LineChart title="p95 in ms" times={times} lines={[{ label: 'p95', values: series.p95_ms }]} />
      </div>
      <Table
        name="Capabilities"
        caption="Busiest capabilities, last minute"
        heads={['Capability', '15 min', 'Calls', 'p95', 'Errors', 'Last error']}
      >
        {data.capabilities.map(({ name, service, series: own, ...figures }) => (
          <tr key={`${service} ${name}`}>
            <th scope="row">
              {service === undefined ? '' : `${service}/`}
              {name}
            </th>
            <td>
              <Sparkline values={own.calls} />
            </td>
            <td>{rate(figures.calls_per_s)}</td>
            <td>{milliseconds(figures.p95_ms)}</td>
            <td>{percent(figures.error_ratio)}</td>
            <td>{figures.last_error_code ?? '–'}</td>
          </tr>
        ))}
      </Table>
      <p class="muted">
        Replica {data.replica}, version {data.version}, up for {Math.floor(data.uptime_s / 60)} min. Other
        replicas have a console of their own.
      </p>
    </>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
