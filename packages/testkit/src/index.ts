export { dial, type RawConnection } from './network/dial.ts';
export { freePort, isPortFree, listenOnLoopback } from './network/free-port.ts';
export { startTcpBalancer, type TcpBalancer, type BalancerPolicy } from './network/tcp-balancer.ts';
export { startFaultProxy, type Direction, type FaultProxy } from './network/fault-proxy.ts';
export { startGarblingProxy } from './network/garbling-proxy.ts';
export { networkHost, type NetworkHost } from './network/network-host.ts';
export { startRetryingBalancer, type RetryingBalancer } from './network/retrying-balancer.ts';
export {
  startSquid,
  startTinyproxy,
  type ForwardProxy,
  type ForwardProxyOptions,
} from './programs/start-forward-proxy.ts';
export { findProgram } from './programs/find-program.ts';
export type { HttpBalancer, Target } from './programs/http-balancer.ts';
export { makeCertificate, type CertificateFiles } from './programs/make-certificate.ts';
export { startDnsmasq, type Dnsmasq } from './programs/start-dnsmasq.ts';
export { startHaproxy, type Haproxy, type HaproxyOptions } from './programs/start-haproxy.ts';
export { startNginx } from './programs/start-nginx.ts';
export { findMysqlServers, type MysqlProgram } from './mysql/find-servers.ts';
export {
  executeMysql,
  startMysql,
  type Mysql,
  type MysqlAddress,
  type MysqlOptions,
} from './mysql/start-mysql.ts';
export { startPostgres, type Postgres, type PostgresOptions } from './postgres/start-postgres.ts';
export {
  findPgBouncer,
  startPgBouncer,
  type PgBouncer,
  type PgBouncerOptions,
  type PgBouncerProgram,
} from './postgres/start-pgbouncer.ts';
export { databaseUrl, withClient, type ServerAddress } from './postgres/server-address.ts';
export { canEnter, serverAccount } from './postgres/server-account.ts';
export { testDatabase, dropTestDatabases, type TestDatabase } from './postgres/test-database.ts';
export {
  runProcess,
  startProcess,
  type ProcessExit,
  type ProcessOptions,
  type RunningProcess,
} from './processes/start-process.ts';
export { findValkey, startValkey, type Valkey, type ValkeyOptions } from './programs/start-valkey.ts';
export { cpuMicroseconds, sizeOf, type ProcessSize } from './processes/process-size.ts';
export { createRandom, pick } from './random.ts';
export { createReleasers, type Releasers } from './releasers.ts';
export { smallDisk, type SmallDisk } from './small-disk.ts';
export { temporaryFolder, temporaryPrefix, type TemporaryFolder } from './temporary-folder.ts';
export { SVC, SVC_AGENT, SVC_GATEWAY, type Executables } from './service/executables.ts';
export { createKeyPair } from './service/key-pair.ts';
export { COST_AS_CREATED, createAgentSecret, createKey, type CreatedKey } from './service/secrets.ts';
export { createTokenIssuer, type TokenIssuer } from './service/token-issuer.ts';
export { ask, type Answer, type AskOptions } from './service/ask.ts';
export { makeAgentFolder, nextRecord, startAgent } from './service/start-agent.ts';
export { gatewaySettings, startGateway, type StartedGateway } from './service/start-gateway.ts';
export {
  startService,
  type CallOptions,
  type Service,
  type ServiceOptions,
} from './service/start-service.ts';
