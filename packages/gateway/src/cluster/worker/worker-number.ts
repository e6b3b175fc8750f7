/** The variable by which a primary tells a process that it starts which worker it is. */
export const WORKER_NUMBER = 'SVC_GATEWAY_WORKER';
