/**
 * Formats numbers, times and long texts for display.
 */
import type { TranslationBundle } from '@jupyterlab/translation';

/** A duration in whole seconds, as `0:07`, `12:05` or `1:02:03`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 60) % 60, whole % 60];
  const hours = Math.floor(whole / 3600);
  const padded = parts.map(part => String(part).padStart(2, '0')).join(':');
  return hours ? `${hours}:${padded}` : padded.replace(/^0(?=\d)/, '');
}

/** The duration of one execution. */
export function formatSeconds(
  seconds: number,
  trans: TranslationBundle
): string {
  const digits = seconds < 10 ? 2 : 0;
  return trans.__('%1 s', seconds.toFixed(digits));
}

/** A count with the separators of the user's locale. */
export function formatCount(number: number): string {
  return number.toLocaleString();
}

/** A count in compact notation, as `2.8K`. */
export function formatCompact(number: number): string {
  return number.toLocaleString([], { notation: 'compact' });
}

/** A part as a percentage of the whole, at most 100. */
export function percentage(part: number, whole: number): number {
  return whole > 0 ? Math.min(100, Math.round((100 * part) / whole)) : 100;
}

/** The text on one line, truncated to `most` characters. */
export function truncate(text: string, most: number): string {
  const line = text.split(/\s+/).join(' ').trim();
  const letters = Array.from(line);
  return letters.length > most
    ? letters.slice(0, most - 1).join('') + '…'
    : line;
}

/** A point in time, in seconds since the epoch. */
export function formatTime(seconds: number): string {
  return new Date(1000 * seconds).toLocaleString([], {
    dateStyle: 'medium',
    timeStyle: 'short'
  });
}
