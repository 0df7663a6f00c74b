"""What reads and writes messages and settings: pydantic, or its substitute in a kernel that does not have it.

The kernel side imports these names from here, so that one installation beside JupyterLab serves kernels whose
environments have only ipykernel. The engine always has pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, TypeAdapter, ValidationError
else:
    try:
        from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, TypeAdapter, ValidationError
    except (ImportError, SystemError):  # none, one before version 2.5, or one that does not match its core
        from exploracoder_jupyter.core.plain_validation import (
            BaseModel,
            ConfigDict,
            Field,
            JsonValue,
            SecretStr,
            TypeAdapter,
            ValidationError,
        )

__all__ = ["BaseModel", "ConfigDict", "Field", "JsonValue", "SecretStr", "TypeAdapter", "ValidationError"]
