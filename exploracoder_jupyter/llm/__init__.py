"""Language models: implementations that answer a `ModelRequest`.

- `endpoint` uses any OpenAI-compatible endpoint, for replies and for vectors; only `connection` and
  `faults` import the client, on first use.
- `offline` is the built-in default, which is not a language model.
- `ReplayModel` answers from a trace, `PartialReplayModel` from one first, `ScriptedModel` from a list or a function.
- `ArchivedRepliesModel` records the replies of another model in a `ReplyArchive`, and answers from it.
"""
