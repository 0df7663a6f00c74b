/** The efforts, and their labels in forms. */
import type { TranslationBundle } from '@jupyterlab/translation';

export const EFFORTS = ['auto', 'direct', 'explore'] as const;

/** The label of each effort. */
export function effortLabels(
  trans: TranslationBundle
): Record<(typeof EFFORTS)[number], string> {
  return {
    auto: trans.__('Automatic'),
    direct: trans.__('Whole programs'),
    explore: trans.__('Step by step')
  };
}
