"""Credential files and folders of the user that siblings never see: in the home folder, and named by variables.

A path is hidden if it is listed and exists, whatever else of the home folder is shown (see `visible_files`).
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from exploracoder_jupyter.core.settings_sources import config_path

# fmt: off
_HIDDEN: Final = (
    ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".oci", ".boto", ".s3cfg", ".netrc", ".pgpass", ".my.cnf",
    ".npmrc", ".pypirc", ".pip", ".env", ".git-credentials", ".vault-token", ".terraform.d", ".databrickscfg",
    ".kaggle", ".huggingface", ".openai", ".anthropic", ".password-store", ".1password", ".mozilla", ".thunderbird",
    ".jupyter", ".ipython", ".bash_history", ".zsh_history", ".python_history", ".psql_history", ".config/gcloud",
    ".config/gh", ".config/hub", ".config/git/credentials", ".config/op", ".config/rclone", ".config/pip",
    ".config/openai", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/exploracoder_jupyter", ".config/containers/auth.json", ".cargo/credentials", ".cargo/credentials.toml",
    ".cache/huggingface/token", ".cache/mozilla", ".cache/google-chrome", ".cache/chromium", "snap/firefox",
    "snap/chromium", ".local/share/keyrings", ".local/share/kwalletd", ".local/share/jupyter/runtime", ".var/app",
)
# fmt: on
"""Below the home folder. Jupyter's runtime folder has the keys of running kernels, its history has the user's input."""

_FOLDER_VARIABLES: Final = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}
"""Variables that move a folder which is usually below the home folder."""

_CREDENTIAL_VARIABLES: Final = {
    **dict.fromkeys(
        ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "GNUPGHOME", "KUBECONFIG", "NETRC", "PGPASSFILE", "PGSERVICEFILE"), ("",)
    ),
    **dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"), ("",)),
    **dict.fromkeys(
        ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "OCI_CONFIG_FILE"), ("",)
    ),
    **dict.fromkeys(("BOTO_CONFIG", "RCLONE_CONFIG", "GH_CONFIG_DIR", "PIP_CONFIG_FILE", "HF_TOKEN_PATH"), ("",)),
    **dict.fromkeys(("NPM_CONFIG_USERCONFIG", "DATABRICKS_CONFIG_FILE", "VAULT_TOKEN_FILE"), ("",)),
    "DOCKER_CONFIG": ("config.json",),
    "KAGGLE_CONFIG_DIR": ("kaggle.json",),
    "HF_HOME": ("token", "stored_tokens"),
    "CARGO_HOME": ("credentials", "credentials.toml"),
}
"""Variables that name a file or folder with credentials, or (with a file list) a folder that contains such files."""


def hidden_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the existing files and folders that contain credentials, symbolic links resolved, without duplicates."""
    homes = home_folders(environ)
    found = {path.resolve() for path in _candidates(environ) if _exists(path)}
    found = {path for path in found if not any(home.is_relative_to(path) for home in homes)}
    return tuple(sorted(path for path in found if not any(parent in found for parent in path.parents)))


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for home in _homes(environ):
        yield from (home / name for name in _HIDDEN)
    yield config_path()
    yield config_path().parent if config_path().parent.name == "exploracoder_jupyter" else config_path()
    yield Path(jupyter_runtime_dir())
    yield from _relocated(environ)
    for name, files in _CREDENTIAL_VARIABLES.items():
        for place in filter(None, environ.get(name, "").split(os.pathsep)):
            yield from (Path(place, file) for file in files)


def _relocated(environ: Mapping[str, str]) -> Iterator[Path]:
    for variable, usual in _FOLDER_VARIABLES.items():
        if environ.get(variable):
            beside = (name for name in _HIDDEN if name.startswith(f"{usual}/"))
            yield from (Path(environ[variable], name.removeprefix(f"{usual}/")) for name in beside)


def home_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's home folders, symbolic links resolved: the one in `HOME`, and the one of the account."""
    return tuple(sorted({home.resolve() for home in _homes(environ)}))


def _homes(environ: Mapping[str, str]) -> set[Path]:
    homes = {Path(environ["HOME"])} if environ.get("HOME") else set()
    with suppress(KeyError):  # a user id without an account, as in containers
        homes.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return {home for home in homes if home != Path("/")}


def _exists(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except OSError:
        return False
