"""Teaches a small model to look APIs up while it writes (ToolCoder): annotate a corpus, fine-tune, infer with search.

`annotation_run` writes annotated code from a corpus; every search in it is made with the index of the libraries.
`training` fine-tunes a model on it, and `adapter_model` is the model port for the result. Only `base_model`, `training`
and `adapter_model` need the extra `tune`, and import it when they are used.
"""
