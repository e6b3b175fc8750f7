import {
  commandsOf,
  FLAGS_OF_ALL,
  type CommandSpec,
  type FlagSpec,
  type ProgramSpec,
  type Shell,
  type Suggestions,
} from './command-table.ts';

/** A script by which a shell completes commands, flags, and the values that are known or are files. */
export function renderCompletion(program: ProgramSpec, shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bash(program);
    case 'zsh':
      return zsh(program);
    case 'fish':
      return fish(program);
  }
}

interface Place {
  readonly command: string | undefined;
  readonly spec: CommandSpec;
  readonly flags: readonly (readonly [string, FlagSpec])[];
}

function placesOf(program: ProgramSpec): readonly Place[] {
  const place = (command: string | undefined, spec: CommandSpec): Place => ({
    command,
    spec,
    flags: Object.entries({ ...spec.flags, ...FLAGS_OF_ALL }),
  });
  const commands = Object.entries(commandsOf(program));
  return [place(undefined, program.run), ...commands.map(([name, spec]) => place(name, spec))];
}

function bash(program: ProgramSpec): string {
  const { name } = program;
  const places = placesOf(program);
  const names = places.flatMap(({ command }) => command ?? []);
  const offer = (suggest: Suggestions | undefined): string => {
    if (suggest === 'file')
      return 'compopt -o filenames 2>/dev/null; IFS=$\'\\n\'; COMPREPLY=($(compgen -f -- "$current"))';
    return `COMPREPLY=($(compgen -W '${(suggest ?? []).join(' ')}' -- "$current"))`;
  };
  const values = places.flatMap(({ command, flags }) =>
    flags.flatMap(([flag, { value, short, suggest }]) => {
      if (value === undefined) return [];
      const typed = [
        `'${command ?? ''} --${flag}'`,
        ...(short === undefined ? [] : [`'${command ?? ''} -${short}'`]),
      ];
      return [`    ${typed.join('|')}) ${offer(suggest)}; return ;;`];
    }),
  );
  const words = places.map(({ command, spec, flags }) => {
    const operands = spec.operands?.[0]?.suggest;
    const known = command === undefined ? names : typeof operands === 'object' ? operands : [];
    const all = [...known, ...flags.map(([flag]) => `--${flag}`)];
    const files = operands === 'file' ? `\n      [[ $current == -* ]] || { ${offer('file')}; return; }` : '';
    return `    '${command ?? ''}')${files}\n      words='${all.join(' ')}' ;;`;
  });
  const functionName = `_${name.replaceAll('-', '_')}`;
  return `# Completion of ${name} for bash: source <(${name} completion bash)
${functionName}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= word words= IFS=$' \\t\\n'
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      ${names.join('|')}) command=$word; break ;;
    esac
  done
  case "$command $before" in
${values.join('\n')}
  esac
  case $command in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F ${functionName} ${name}
`;
}

function zsh(program: ProgramSpec): string {
  const { name } = program;
  const places = placesOf(program);
  const action = (suggest: Suggestions | undefined): string => {
    if (suggest === 'file') return '_files';
    return suggest === undefined ? ' ' : `(${suggest.join(' ')})`;
  };
  const argument = ([flag, { does, value, mayRepeat, suggest }]: readonly [string, FlagSpec]): string => {
    const takes = value === undefined ? '' : `:${value}:${action(suggest)}`;
    return `'${mayRepeat === true ? '*' : ''}--${flag}[${zshText(does)}]${takes}'`;
  };
  const cases = places
    .filter(({ command }) => command !== undefined)
    .map(({ command, spec, flags }) => {
      const operands = (spec.operands ?? []).map(
        ({ name: operand, isOptional, mayRepeat, suggest }) =>
          `'${mayRepeat === true ? '*' : ''}${isOptional === true ? '::' : ':'}${operand}:${action(suggest)}'`,
      );
      return `    ${command}) _arguments ${[...flags.map(argument), ...operands].join(' ')} ;;`;
    });
  const described = places.flatMap(({ command, spec }) =>
    command === undefined ? [] : [`'${command}:${zshText(spec.does)}'`],
  );
  const functionName = `_${name.replaceAll('-', '_')}`;
  return `#compdef ${name}
# Completion of ${name} for zsh: source <(${name} completion zsh)
${functionName}() {
  local state line
  local -a commands=(${described.join(' ')})
  _arguments -C ${(places[0]?.flags ?? []).map(argument).join(' ')} '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${cases.map((each) => `    ${each}`).join('\n')}
      esac ;;
  esac
}
compdef ${functionName} ${name}
`;
}

function fish(program: ProgramSpec): string {
  const { name } = program;
  const places = placesOf(program);
  const names = places.flatMap(({ command }) => command ?? []);
  const alone = `"not __fish_seen_subcommand_from ${names.join(' ')}"`;
  const offer = (suggest: Suggestions | undefined): string => {
    if (suggest === 'file') return ' -rF';
    return suggest === undefined ? ' -x' : ` -x -a "${suggest.join(' ')}"`;
  };
  const lines = places.flatMap(({ command, spec, flags }) => {
    const when = command === undefined ? alone : `"__fish_seen_subcommand_from ${command}"`;
    const head = `complete -c ${name} -n ${when}`;
    const operand = spec.operands?.[0]?.suggest;
    return [
      ...(command === undefined
        ? []
        : [`complete -c ${name} -n ${alone} -a ${command} -d '${fishText(spec.does)}'`]),
      ...flags.map(([flag, { does, short, value, suggest }]) => {
        const letter = short === undefined ? '' : ` -s ${short}`;
        return `${head} -l ${flag}${letter}${value === undefined ? '' : offer(suggest)} -d '${fishText(does)}'`;
      }),
      ...(typeof operand === 'object' ? [`${head} -a "${operand.join(' ')}"`] : []),
      ...(operand === 'file' ? [`${head} -F`] : []),
    ];
  });
  return `# Completion of ${name} for fish: ${name} completion fish | source
complete -c ${name} -f
${lines.join('\n')}
`;
}

function firstSentence(text: string): string {
  return text.split('. ')[0]?.replace(/\.$/, '') ?? '';
}

function zshText(text: string): string {
  return firstSentence(text)
    .replaceAll("'", '’')
    .replace(/[[\]:\\`]/g, (char) => (char === '`' ? '' : `\\${char}`));
}

function fishText(text: string): string {
  return firstSentence(text).replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
