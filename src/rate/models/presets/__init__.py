"""What is registered: the models by name, one file for each family; importing this package fills the registries."""

from rate.registry import import_files

import_files(__name__, __path__)
