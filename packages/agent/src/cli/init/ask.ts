/**
 * Questions to whoever sits at the terminal; undefined where the answer is that they go away. The library is loaded with
 * the first question, since only `init` has any.
 */
export async function askYesNo(question: string): Promise<boolean | undefined> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message: question, initialValue: false });
  return isCancel(answer) ? undefined : answer;
}

export async function askSecret(question: string): Promise<string | undefined> {
  const { password, isCancel } = await import('@clack/prompts');
  const answer = await password({ message: question });
  return isCancel(answer) ? undefined : answer;
}
