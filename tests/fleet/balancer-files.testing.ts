import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../deploy/balancers');

/** What the guide to several gateways tells people to install. */
export const HAPROXY_FILE: string = join(folder, 'haproxy.cfg');
export const NGINX_FILE: string = join(folder, 'nginx.conf');
