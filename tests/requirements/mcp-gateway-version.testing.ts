import { runProcess, SVC_GATEWAY } from '@svc/testkit';

/** What `svc-gateway --version` prints. */
export async function gatewayVersion(): Promise<string> {
  return (await runProcess(SVC_GATEWAY, ['--version'])).stdout.trim();
}
