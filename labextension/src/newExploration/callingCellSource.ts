/**
 * The source of a cell that starts an exploration. The magic splits its line as a shell does (Python's `shlex`), and a
 * quoted value may span several lines.
 */

/** What to explore, as entered by the user. Empty options are left as configured. */
export interface ITask {
  /** Names of libraries, separated by commas or spaces. */
  libraries: string;
  /** The task in words. */
  task: string;
  check: string;
  model: string;
  effort: string;
  /** Code that runs before the exploration. */
  setup: string;
  /** Id of the failed cell to correct, if there is one. */
  fixes: string;
}

export const EMPTY_TASK: ITask = {
  libraries: '',
  task: '',
  check: '',
  model: '',
  effort: '',
  setup: '',
  fixes: ''
};

/** Words that need no quotes. */
const PLAIN = /^[\w@%+:,./-]+$/;

export function callingCell(task: ITask): string {
  const options = ['model', 'effort', 'check', 'setup'] as const;
  const words = [
    '%%explora',
    ...splitLibraries(task.libraries).map(quoteWord),
    ...options.flatMap(name => formatOption(name, task[name].trim()))
  ];
  return `${words.join(' ')}\n${task.task.trim()}`;
}

export function splitLibraries(text: string): string[] {
  const names = text.split(/[\s,]+/).filter(name => name);
  return [...new Set(names)];
}

/** Quote a word so that `shlex` reads it unchanged. */
export function quoteWord(text: string): string {
  if (PLAIN.test(text)) {
    return text;
  }
  if (/["\\]/.test(text) && !text.includes("'")) {
    return `'${text}'`;
  }
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** An option with its value; a value that begins with a dash would be read as another option. */
function formatOption(name: string, value: string): string[] {
  const joint = value.startsWith('-') ? '=' : ' ';
  return value ? [`--${name}${joint}${quoteWord(value)}`] : [];
}
