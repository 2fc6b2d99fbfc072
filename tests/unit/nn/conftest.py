"""One thread: the tensors of these tests are too small to share out."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
