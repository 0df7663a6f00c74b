/** Reads and writes the kernel's settings, and tries models, over the link to the kernel. Never rejects. */
import { NoAnswerError } from '../link/kernelLink';
import type {
  Answer,
  FoundModels,
  SettingsView,
  ToKernel,
  TriedModel
} from '../messages';

/** An answer, or why there is none. */
export type Result<T> =
  T | { failure: 'timeout' | 'closed' | 'none' | 'unknown' };

type Send = (message: ToKernel, timeout?: number) => Promise<Answer>;

/** How long looking for models may take, in milliseconds. */
const FIND_TIMEOUT = 60_000;

/** How long a model may take to answer: a local one may have to be loaded. */
const TRY_TIMEOUT = 300_000;

/** What to save: changed settings, and a new key or an empty text to remove it. */
export interface IChanges {
  values: Record<string, string>;
  key: string | null;
}

export class SettingsClient {
  constructor(private _send: Send) {}

  read(): Promise<Result<SettingsView>> {
    return this._ask({ type: 'read_settings' }, 'settings');
  }

  save({ values, key }: IChanges): Promise<Result<SettingsView>> {
    return this._ask({ type: 'save_settings', values, key }, 'settings');
  }

  findModels(address: string, key: string): Promise<Result<FoundModels>> {
    return this._ask(
      { type: 'find_models', base_url: address, key: key || null },
      'found_models',
      FIND_TIMEOUT
    );
  }

  tryModel(
    address: string,
    model: string,
    key: string
  ): Promise<Result<TriedModel>> {
    return this._ask(
      { type: 'try_model', base_url: address, model, key: key || null },
      'tried_model',
      TRY_TIMEOUT
    );
  }

  private async _ask<T extends Answer['type']>(
    message: ToKernel,
    type: T,
    timeout?: number
  ): Promise<Result<Extract<Answer, { type: T }>>> {
    try {
      const answer = await this._send(message, timeout);
      return answer.type === type
        ? (answer as Extract<Answer, { type: T }>)
        : { failure: 'unknown' };
    } catch (error) {
      return {
        failure: error instanceof NoAnswerError ? error.reason : 'closed'
      };
    }
  }
}
