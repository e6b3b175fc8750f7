import { DEFAULT_DRIVER, DRIVER_NAMES } from '../databases/drivers.ts';
import { valueAt } from './path.ts';

/** The driver that the file names, whatever else is wrong with it; the default one where it names none that exists. */
export function driverNameOf(root: unknown): string {
  const name = valueAt(root, ['database', 'driver']);
  return typeof name === 'string' && DRIVER_NAMES.includes(name) ? name : DEFAULT_DRIVER;
}
