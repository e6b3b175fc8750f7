import { signal, type Signal } from '@preact/signals';

const ofSystem = matchMedia('(prefers-color-scheme: dark)');

/** The system's until it is switched here, and again when the system's changes; kept nowhere. */
export const isDark: Signal<boolean> = signal(ofSystem.matches);
isDark.subscribe((dark) => {
  document.documentElement.dataset['scheme'] = dark ? 'dark' : 'light';
});
ofSystem.addEventListener('change', ({ matches }) => {
  isDark.value = matches;
});
