// Two endpoints in C over the links of a scenario: a client sends a datagram every 10 ms, and the server returns each.
// An endpoint of a real stack, such as picoquic or ngtcp2, takes their place: it says when it wants to wake, what it
// sends, and takes what arrives.
//
//     cargo build --release --package lasthop-capi
//     cc -I crates/capi/include examples/c/echo.c -L target/release -llasthop -o echo
//     LD_LIBRARY_PATH=target/release ./echo examples/c/path.toml results/echo

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lasthop.h"

#define COUNT 200
#define INTERVAL 10000000u // 10 ms

static lasthop_address client = {{0}, 5000}, server = {{0}, 4433};

static void stop(const char *doing) {
    fprintf(stderr, "%s: %s\n", doing, lasthop_error());
    exit(1);
}

static void send_to(lasthop_network *network, uint64_t now, lasthop_address from, lasthop_address to,
                    const uint8_t *payload, size_t length) {
    lasthop_datagram datagram = {from, to, 0, payload, length};
    if (!lasthop_send_datagram(network, now, &datagram))
        stop("send");
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: echo SCENARIO [RESULT]\n");
        return 2;
    }
    lasthop_network *network = lasthop_open(arguments[1], NULL, 0);
    if (!network)
        stop("scenario");
    size_t client_host, server_host;
    if (!lasthop_host(network, "client", &client_host, client.ip) ||
        !lasthop_host(network, "server", &server_host, server.ip))
        stop("hosts");

    uint32_t sent = 0, returned = 0;
    uint64_t round_trips = 0, now = 0;
    for (;;) {
        // The earliest of what the network and the endpoints wait for.
        uint64_t next = UINT64_MAX, event;
        if (lasthop_next_event(network, &event))
            next = event;
        if (sent < COUNT && (uint64_t)sent * INTERVAL < next)
            next = (uint64_t)sent * INTERVAL;
        if (next == UINT64_MAX)
            break;
        now = next;
        if (!lasthop_run_until(network, now))
            stop("run");
        lasthop_arrival arrival;
        while (lasthop_poll(network, &arrival)) {
            if (!arrival.is_datagram)
                continue;
            // What arrived is valid until the next call: a copy of it is sent.
            uint8_t payload[64];
            size_t length = arrival.datagram.payload_len;
            if (length > sizeof payload)
                continue;
            memcpy(payload, arrival.datagram.payload, length);
            if (arrival.host == server_host) {
                send_to(network, now, server, arrival.datagram.from, payload, length);
            } else {
                uint64_t left;
                memcpy(&left, payload, sizeof left);
                round_trips += arrival.at_ns - left;
                returned++;
            }
        }
        if (sent < COUNT && now == (uint64_t)sent * INTERVAL) {
            send_to(network, now, client, server, (const uint8_t *)&now, sizeof now);
            sent++;
        }
    }
    char *summary = lasthop_finish(network, count > 2 ? arguments[2] : NULL);
    if (!summary)
        stop("results");
    lasthop_free_text(summary);
    printf("%u sent, %u returned, mean round trip %.3f ms\n", sent, returned,
           returned ? (double)round_trips / returned / 1e6 : 0.0);
    return 0;
}
