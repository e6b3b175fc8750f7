import { render } from 'preact';
import './style.css';
import { App } from './app.tsx';
import { takeToken } from './session.ts';

takeToken();
const root = document.querySelector('#app');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
