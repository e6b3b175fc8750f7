// What a program may use that starts the process of the checks before it has loaded the rest of the agent.
export { CHECKS } from './start-up/checks-process.ts';
