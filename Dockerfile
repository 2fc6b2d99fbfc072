# The quickstart in a container: docker build -t rate . && docker run --rm -v "$PWD/runs:/rate/runs" rate
# On a machine without a GPU a CPU build of PyTorch saves gigabytes: --build-arg PIP_EXTRA_INDEX_URL=<its index>.
FROM python:3.11-slim

ARG PIP_EXTRA_INDEX_URL=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 RATE_DATA=/rate/data MPLCONFIGDIR=/tmp/matplotlib
WORKDIR /rate

# What changes rarely comes first, so that a change of the code installs no dependency again.
COPY requirements/constraints.txt requirements/
RUN pip install -c requirements/constraints.txt torch
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install -c requirements/constraints.txt .
COPY examples examples

RUN useradd --create-home rate && mkdir -p runs data && chown rate runs data
USER rate
CMD ["python", "examples/quickstart.py", "--out", "runs/quickstart"]
