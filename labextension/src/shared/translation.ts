/** The translations into the user's language, provided to the components. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';

export const TranslationContext: React.Context<TranslationBundle> =
  React.createContext(nullTranslator.load('exploracoder_jupyter'));

export function useTrans(): TranslationBundle {
  return React.useContext(TranslationContext);
}
