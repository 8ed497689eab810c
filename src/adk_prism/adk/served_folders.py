"""Folders of apps, and the Runner that is built from each app when it is imported.

Follows google-adk 2.13: `cli/utils/agent_loader.py` imports, `cli/api_server.py` (`get_runner_async`)
wraps a bare agent into an App named as its folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import invalidate_caches
from pathlib import Path

from google.adk.apps.app import App
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.runners import Runner

from adk_prism.adk.app_environment import AppEnvironment, Environments, ExtraPlugins
from adk_prism.adk.app_folder import AppFolder, Found, Stamp
from adk_prism.adk.client_tools import is_declared, module_declaration
from adk_prism.adk.services import Services
from adk_prism.adk.tools import threads_of_module


class ServedFolders:
    """Folders whose apps become Runners; mostly one."""

    def __init__(
        self,
        paths: Sequence[Path],
        services: Services,
        environments: Environments,
        aliases: Mapping[str, str] | None = None,
        extra: ExtraPlugins | None = None,
    ) -> None:
        """`aliases` are further names that apps are served under, each with the app's own.

        Each app gets the `extra` plugins.
        """
        self._folders = [AppFolder(path, aliases) for path in paths]
        self.services = services
        self._extra = extra or ExtraPlugins()
        self._environments = environments
        self._loaders = {each.path: AgentLoader(str(each.path)) for each in self._folders}

    def scan(self) -> list[Found]:
        """Return everything that is an app or looks like one, sorted by name."""
        return sorted(found for folder in self._folders for found in folder.scan())

    def elsewhere(self) -> list[Path]:
        """Return the folders below these that hold apps, where these hold none."""
        return [path for folder in self._folders for path in folder.elsewhere()]

    def find(self, name: str) -> Found | None:
        """Return the app of this name, if it is there and can be served."""
        return self._folder_of(name).find(name)

    def _folder_of(self, name: str) -> AppFolder:
        """Return the folder that has the app: the first one that has, or the first if none has."""
        having = (folder for folder in self._folders if folder.find(name) is not None)
        return next(having, self._folders[0])

    def build(self, name: str) -> Runner:
        """Import an app and return its Runner. Raises whatever the app's code raises."""
        found = self.find(name)
        place = (found.path if found is not None else None) or self._folder_of(name).path
        with self._environments.loading(name, place):
            app = self._as_app(name)
        declared = [] if is_declared(app.plugins) else module_declaration(name)
        plugins = [
            *app.plugins,
            *self._extra.make(),
            *threads_of_module(name),
            *declared,
            AppEnvironment(name, self._environments),
        ]
        # On a copy of the app, so that the app's own object stays as it was.
        return Runner(
            app=app.model_copy(update={"plugins": plugins}),
            app_name=name,
            artifact_service=self.services.artifacts,
            session_service=self.services.sessions,
            memory_service=self.services.memory,
            credential_service=self.services.credentials,
        )

    def forget(self, name: str) -> None:
        """Forget the modules of an app that was imported in part."""
        folder = self._folder_of(name)
        self._loaders[folder.path].remove_agent_from_cache(folder.module_of(name))
        invalidate_caches()

    def stamp(self, name: str) -> Stamp:
        """Return a value that changes when a file of the app changes."""
        return self._folder_of(name).stamp(name)

    def compare_environments(self) -> None:
        """Report the variables that the `.env` files of several apps set differently."""
        apps = [each for each in self.scan() if not each.problem]
        self._environments.compare_files((each.name, each.path) for each in apps if each.path)

    def allows_threads(self, name: str) -> bool:
        """Return whether an app's tools may run in threads."""
        return self._environments.allows_threads(name)

    def _as_app(self, name: str) -> App:
        folder = self._folder_of(name)
        loaded = self._loaders[folder.path].load_agent(folder.module_of(name))
        return loaded if isinstance(loaded, App) else App(name=name, root_agent=loaded)
