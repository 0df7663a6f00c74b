/** Addresses of OpenAI-compatible endpoints that users are likely to choose. */

export interface IProvider {
  /** Its own name, which is not translated. */
  name: string;
  /** As it is written in the configuration: a URL, or the name of a usual address on this machine. */
  address: string;
}

export const LOCAL: readonly IProvider[] = [
  { name: 'Ollama', address: 'ollama' },
  { name: 'LM Studio', address: 'lmstudio' },
  { name: 'vLLM', address: 'vllm' },
  { name: 'llama.cpp', address: 'llamacpp' }
];

export const REMOTE: readonly IProvider[] = [
  { name: 'OpenAI', address: 'https://api.openai.com/v1' },
  { name: 'Anthropic', address: 'https://api.anthropic.com/v1' },
  {
    name: 'Google',
    address: 'https://generativelanguage.googleapis.com/v1beta/openai'
  },
  { name: 'Mistral', address: 'https://api.mistral.ai/v1' },
  { name: 'DeepSeek', address: 'https://api.deepseek.com/v1' },
  { name: 'OpenRouter', address: 'https://openrouter.ai/api/v1' }
];
