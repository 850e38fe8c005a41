# The slackwater command in a container: the static binary of `make dist` and what the emulator needs. From the folder above, after
# `make dist`:
#
#   docker build -f packaging/container/Containerfile.command -t slackwater .
#   docker run --rm -v "$PWD:/work" slackwater run lte-demo
#   docker run --rm -it --cap-add NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun slackwater emulate --cell lte -- bash
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends iproute2 \
    && rm -rf /var/lib/apt/lists/*
ADD dist/slackwater-*-linux-musl.tar.gz /opt
RUN ln -s /opt/slackwater-*/slackwater /usr/local/bin/slackwater
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/slackwater"]
