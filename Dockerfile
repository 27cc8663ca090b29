# nlil and its viewer. Build it, learn a run, and look at it on http://localhost:8000:
#   docker build -t nlil .
#   docker run --rm -v "$PWD/runs:/runs" --user "$(id -u)" nlil learn kin --out /runs/kin
#   docker run --rm -v "$PWD/runs:/runs" --user "$(id -u)" -p 127.0.0.1:8000:8000 --read-only --tmpfs /tmp nlil
FROM python:3.11-slim

# Options for pip, such as an index with builds of torch for CPUs only; those for GPUs are several GB.
ARG PIP_OPTIONS=""
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE MANIFEST.in ./
COPY src src
RUN pip install --no-cache-dir $PIP_OPTIONS -c constraints.txt ".[all]" && rm -rf build

# The demo compiles the loops that most commands use; they are kept beside the package, where a container may read them.
ENV NLIL_CACHE=/tmp/nlil MPLCONFIGDIR=/tmp/matplotlib
RUN nlil demo --quiet && rm -rf /tmp/*

RUN useradd --create-home --uid 1000 nlil && mkdir /runs && chown nlil /runs
USER nlil
WORKDIR /runs
VOLUME /runs
EXPOSE 8000
ENTRYPOINT ["nlil"]
CMD ["serve", "kin", "--host", "0.0.0.0", "--port", "8000"]
