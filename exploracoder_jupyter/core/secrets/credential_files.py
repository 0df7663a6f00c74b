"""Which files contain credentials, judging by their names; where they are searched is up to the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from exploracoder_jupyter.core.secrets.secret_names import is_credential_stem

_FOLDERS: Final = (".ssh", ".aws", ".azure", ".gnupg", ".kube", ".password-store")
_FILES: Final = (
    ".netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".databrickscfg", ".boto",
    ".s3cfg",
)  # fmt: skip
_IN_CLONE: Final = frozenset(["config", "credentials", "config.worktree"])
"""Addresses of remotes often contain a token."""
_SUFFIXES: Final = frozenset(["", ".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties"])
"""Of files named `secrets` or the like, those that configure something; code and data of that name stay visible."""

BELOW_HOME: Final = (
    *_FOLDERS, *_FILES,
    ".docker", ".oci", ".pip", ".env", ".terraform.d", ".kaggle", ".huggingface", ".openai", ".anthropic", ".1password",
    ".mozilla", ".thunderbird", ".jupyter", ".ipython", ".bash_history", ".zsh_history", ".python_history",
    ".psql_history", ".config/gcloud", ".config/gh", ".config/hub", ".config/git/credentials", ".config/op",
    ".config/rclone", ".config/pip", ".config/openai", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/exploracoder_jupyter", ".config/containers/auth.json",
    ".cargo/credentials", ".cargo/credentials.toml", ".cache/huggingface/token", ".cache/mozilla",
    ".cache/google-chrome", ".cache/chromium", "snap/firefox", "snap/chromium", ".local/share/keyrings",
    ".local/share/kwalletd", ".local/share/jupyter/runtime", ".var/app",
)  # fmt: skip
"""Files and folders in a home folder. Jupyter's runtime folder has the keys of running kernels, its history has the
user's input."""

_WHOLE: Final = """
IPYTHONDIR JUPYTER_CONFIG_DIR GNUPGHOME KUBECONFIG NETRC PGPASSFILE PGSERVICEFILE AWS_CONFIG_FILE
AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG AZURE_CONFIG_DIR
OCI_CONFIG_FILE BOTO_CONFIG RCLONE_CONFIG GH_CONFIG_DIR PIP_CONFIG_FILE HF_TOKEN_PATH NPM_CONFIG_USERCONFIG
DATABRICKS_CONFIG_FILE VAULT_TOKEN_FILE
"""
NAMED_BY_VARIABLES: Final = {
    **dict.fromkeys(_WHOLE.split(), ("",)),
    "DOCKER_CONFIG": ("config.json",),
    "KAGGLE_CONFIG_DIR": ("kaggle.json",),
    "HF_HOME": ("token", "stored_tokens"),
    "CARGO_HOME": ("credentials", "credentials.toml"),
}
"""Variables that name a file or folder with credentials, or (with a file list) a folder that contains such files."""


def is_credential_file(path: Path) -> bool:
    """Whether a file of a project is assumed to contain credentials, judging by its path."""
    if path.name in _IN_CLONE and (path.parent.name == ".git" or ".git/modules/" in path.as_posix()):
        return True
    if path.name in _FILES or path.name.startswith(".env") or any(part in _FOLDERS for part in path.parts[:-1]):
        return True
    return path.suffix in _SUFFIXES and is_credential_stem(path.stem)
