# A server for the agents in /agents. `make dist` first: the image holds the wheels of dist/, and nothing that builds them.
#
#   docker build -t adk-prism .
#   docker run --rm -p 8000:8000 --read-only --tmpfs /tmp -v prism:/data -v "$PWD/tokens.json:/run/secrets/tokens.json:ro" \
#     -v "$PWD/agents:/agents:ro" adk-prism

FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements/image.txt dist/*.whl ./
RUN python -m venv /opt/adk-prism \
    && /opt/adk-prism/bin/python -m pip install --no-cache-dir --no-deps --require-hashes --requirement image.txt \
    && /opt/adk-prism/bin/python -m pip install --no-cache-dir --no-deps ./*.whl \
    && /opt/adk-prism/bin/python -m compileall -q /opt/adk-prism

FROM python:3.13-slim
COPY --from=build /opt/adk-prism /opt/adk-prism
RUN groupadd --gid 10001 prism \
    && useradd --uid 10001 --gid prism --home-dir /data --no-create-home --shell /usr/sbin/nologin prism \
    && install --directory --owner=prism --group=prism --mode=0700 /data \
    && install --directory --mode=0755 /agents

# A path is no secret.
# hadolint ignore=DL3064
ENV PATH=/opt/adk-prism/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ADK_PRISM_AGENTS_DIR=/agents \
    ADK_PRISM_DATA_DIR=/data/prism \
    ADK_PRISM_HOST=0.0.0.0 \
    ADK_PRISM_LOG_FORMAT=json \
    ADK_PRISM_TOKENS=/run/secrets/tokens.json

# By number, so that Kubernetes can tell that it is not root.
USER 10001:10001
WORKDIR /data
# All that is written is here; the rest may be read-only.
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["adk-prism"]
CMD ["serve"]
