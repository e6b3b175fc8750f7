import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.ts';

const KEY = ['create-key', '--name', 'a', '--capabilities', 'b'];

describe('parseArguments', () => {
  it.each([
    [[], { command: 'run', envFile: undefined }],
    [['--env-file', 'gateway.env'], { command: 'run', envFile: 'gateway.env' }],
    [['--env-file=gateway.env'], { command: 'run', envFile: 'gateway.env' }],
    [['--help'], { command: 'help', about: undefined }],
    [['help', 'create-agent'], { command: 'help', about: 'create-agent-secret' }],
    [['create-key', '--help'], { command: 'help', about: 'create-key' }],
    [['--version'], { command: 'version' }],
    [['-v'], { command: 'version' }],
    [
      ['revoke-key', '--key-id', '3cb8a443faa5', '--env-file=g.env', '--json'],
      { command: 'revoke-key', keyId: '3cb8a443faa5', envFile: 'g.env', json: true },
    ],
    [['create-agent-secret'], { command: 'create-agent-secret', json: false }],
    [['create-agent', '--json'], { command: 'create-agent-secret', json: true }],
    [
      ['create-key', '--name', 'reporting', '--capabilities', 'find_book, list_books,find_book'],
      { command: 'create-key', name: 'reporting', capabilities: ['find_book', 'list_books'], json: false },
    ],
    [
      ['create-key', '--json', '--capabilities=*', '--name=a b'],
      { command: 'create-key', name: 'a b', capabilities: ['*'], json: true },
    ],
    [
      [
        ...KEY,
        '--principal',
        'ann',
        '--claim',
        'org=a=b',
        '--claim=level:=3',
        '--claim',
        'teams:=["x"]',
        '--expires-at',
        '2027-01-31T00:00:00Z',
      ],
      {
        command: 'create-key',
        name: 'a',
        capabilities: ['b'],
        principal: 'ann',
        claims: { org: 'a=b', level: 3, teams: ['x'] },
        expiresAt: '2027-01-31T00:00:00Z',
        json: false,
      },
    ],
  ])('reads %j', (argv, command) => {
    expect(parseArguments(argv)).toEqual(command);
  });

  it.each([
    [['create-kye'], /^unknown command "create-kye": did you mean `create-key`\?$/],
    [['create-key', '--name', 'a'], /^`create-key` needs `--capabilities <.*>`$/],
    [['revoke-key', '--key-id', 'a b'], /--key-id is not accepted; accepted: 1 to 32 letters and digits/],
    [['revoke-key', '--key-id', 'svc_3cb8a443faa5_hush'], /^--key-id is a whole key; (?!.*hush)/],
    [['create-key', '--name', 'a', '--capabilities', 'a,*'], /--capabilities: "\*" is not accepted/],
    [['create-key', '--name', 'a', '--capabilities', 'Find-Book'], /"Find-Book" is not accepted; accepted: /],
    [[...KEY, '--claim', 'org'], /--claim: "org" is not accepted; accepted: <name>=<text>/],
    [[...KEY, '--claim', 'Org=x'], /--claim: Org is not accepted; accepted: /],
    [[...KEY, '--claim', 'org:={}'], /--claim: org is not accepted; accepted: /],
    [[...KEY, '--claim', 'org:=x'], /--claim: org is not JSON; accepted: /],
    [[...KEY, '--claim', 'org=x', '--claim', 'org=y'], /--claim: org is given twice/],
    [[...KEY, '--expires-at', 'tomorrow'], /--expires-at: "tomorrow" is not accepted; accepted: .*RFC 3339/],
  ])('refuses %j with a hint', (argv, message) => {
    expect(parseArguments(argv)).toEqual({ command: 'wrong-usage', message: expect.stringMatching(message) });
  });
});
