/** Why a file cannot be read or written, without its name: the reason of what `fs` or a fatal `TextDecoder` has thrown. */
export function readProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EROFS':
      return 'the file system is read-only';
    case 'EISDIR':
      return 'it is a folder';
    case 'ENOTDIR':
      return 'a part of its path is a file';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'there is no space left for it';
    case 'EBUSY':
      return 'it is in use, as a file that is mounted by itself';
    case 'ENOTREG':
      return 'it is a pipe, a device or the like';
    case 'EFBIG':
      return 'it is too large';
    case 'ELOOP':
      return 'its symbolic links lead in a circle';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'it is not UTF-8 text';
    default:
      return typeof code === 'string' ? code : 'it is unreadable';
  }
}
