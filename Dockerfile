FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[mcp,otel,postgres,serve]"

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "fivefold[mcp,otel,postgres,serve]"
RUN useradd --system --uid 10001 --home-dir /data fivefold \
    && install --directory --owner fivefold --mode 0700 /data
ENV FIVEFOLD_STORE=/data/fivefold.db
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8484
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8484/health', timeout=3)"]
ENTRYPOINT ["fivefold"]
CMD ["serve", "--host", "0.0.0.0", "--log-level", "info"]
