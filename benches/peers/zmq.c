/* ZeroMQ's part: a PAIR socket in each process. Each write is copied into a queue, from which the library's thread sends;
   what is long is lent instead. */
#include "plan.h"

#include <zmq.h>

static void *pair;

static void put(const void *buffer, size_t bytes) {
    if (zmq_send(pair, buffer, bytes, 0) != (int)bytes) fail("the other process reads");
}

static void get(void *buffer, size_t bytes) {
    if (zmq_recv(pair, buffer, bytes, 0) != (int)bytes) fail("the other process writes");
}

static long agree(long count) {
    if (rank == 0) put(&count, sizeof count);
    else get(&count, sizeof count);
    return count;
}

/* From the reader, at the end of a row or a stream. */
static double answer(double value) {
    if (rank == 1) put(&value, sizeof value);
    else get(&value, sizeof value);
    return value;
}

static void lent(void *buffer, void *hint) { (void)buffer, (void)hint; }

static void stream(void *buffer, size_t bytes, long count) {
    for (long at = 0; at < count; at++) {
        zmq_msg_t message;
        if (rank == 0) {
            zmq_msg_init_data(&message, buffer, bytes, lent, NULL);
            if (zmq_msg_send(&message, pair, 0) != (int)bytes) fail("the other process reads");
        } else {
            zmq_msg_init(&message);
            if (zmq_msg_recv(&message, pair, 0) != (int)bytes) fail("the other process writes");
            zmq_msg_close(&message);
        }
    }
}

static double cell(const char *kind, size_t bytes, long count, double *values) {
    char *buffer = memory(bytes);
    double unit = count, theirs = 0;
    agree(0), answer(0);
    double began = now(), before = processor();
    if (strcmp(kind, "pingpong") == 0) {
        for (long turn = 0; turn < 2 * count; turn++) {
            if ((turn % 2 == 0) == (rank == 0)) put(buffer, bytes);
            else get(buffer, bytes);
        }
        unit = 2.0 * count;
    } else if (strcmp(kind, "exchange") == 0) {
        for (long at = 0; at < count; at++) put(buffer, bytes), get(buffer, bytes);
    } else if (strcmp(kind, "rate") == 0 || strcmp(kind, "posted") == 0) {
        for (long at = 0; at < count; at++) {
            for (int message = 0; message < ROW; message++) {
                if (rank == 0) put(buffer, bytes);
                else get(buffer, bytes);
            }
            answer(0);
        }
        unit = (double)ROW * count;
    } else if (strcmp(kind, "stream") == 0) {
        stream(buffer, bytes, count);
        /* The writer's messages are in a queue, which the library's thread empties until the reader has answered. */
        theirs = answer(rank == 1 ? processor() - before : 0);
        values[1] = (processor() - before + theirs) / count;
        values[2] = count * (double)bytes;
    } else {
        fail("no such cell");
    }
    double took = now() - began;
    values[0] = took / unit;
    /* What was lent is not used any more: the other process has answered. */
    answer(0);
    free(buffer);
    return took;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char address[64];
    snprintf(address, sizeof address, "tcp://%s", argv[2]);
    begin(argv[1]);
    void *context = zmq_ctx_new();
    pair = zmq_socket(context, ZMQ_PAIR);
    if (rank == 0 ? zmq_bind(pair, address) : zmq_connect(pair, address)) fail("no connection");
    run(argv + 3);
    zmq_close(pair);
    zmq_ctx_term(context);
    return 0;
}
