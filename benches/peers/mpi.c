/* An MPI's part: the cells as a program of that library would write them. */
#include "plan.h"

#include <mpi.h>

#define US MPI_COMM_WORLD
#define ANY MPI_STATUS_IGNORE

static int size;

static long agree(long count) {
    MPI_Bcast(&count, 1, MPI_LONG, 0, US);
    return count;
}

static void ping_pong(char *buffer, int bytes) {
    if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 1, US);
    MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 1, US, ANY);
    if (rank == 1) MPI_Send(buffer, bytes, MPI_BYTE, 0, 1, US);
}

static void exchange(char *buffer, int bytes) {
    MPI_Request both[2];
    MPI_Irecv(buffer, bytes, MPI_BYTE, 1 - rank, 1, US, &both[0]);
    MPI_Isend(buffer + bytes, bytes, MPI_BYTE, 1 - rank, 1, US, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

/* From the reader, at the end of a row or a stream. */
static double answer(double value) {
    if (rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 3, US);
    else MPI_Recv(&value, 1, MPI_DOUBLE, 1, 3, US, ANY);
    return value;
}

static void row(char *buffer, int bytes, int waits) {
    static MPI_Request all[ROW];
    for (int at = 0; at < ROW; at++) {
        if (waits && rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 2, US);
        else if (waits) MPI_Recv(buffer, bytes, MPI_BYTE, 0, 2, US, ANY);
        else if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 2, US, &all[at]);
        else MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 2, US, &all[at]);
    }
    if (!waits) MPI_Waitall(ROW, all, MPI_STATUSES_IGNORE);
    answer(0);
}

/* Long messages in a row, several under way at a time. */
static void stream(char *buffers, int bytes, long count, int depth) {
    MPI_Request under_way[64];
    for (long at = 0; at < count; at++) {
        int slot = at % depth;
        char *buffer = buffers + (size_t)slot * bytes;
        if (at >= depth) MPI_Wait(&under_way[slot], ANY);
        if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 2, US, &under_way[slot]);
        else MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 2, US, &under_way[slot]);
    }
    MPI_Waitall(count < depth ? count : depth, under_way, MPI_STATUSES_IGNORE);
}

static int is(const char *kind, const char *name) { return strcmp(kind, name) == 0; }

/* Roots change from call to call, so that none runs ahead of the others. */
static int collective(const char *kind, char *mine, char *all, int bytes, int root) {
    if (is(kind, "barrier")) MPI_Barrier(US);
    else if (is(kind, "broadcast")) MPI_Bcast(mine, bytes, MPI_BYTE, root, US);
    else if (is(kind, "gather")) MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, US);
    else if (is(kind, "allgather")) MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, US);
    else if (is(kind, "alltoall")) MPI_Alltoall(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, US);
    else if (is(kind, "allreduce")) MPI_Allreduce(mine, all, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, US);
    else return 0;
    return 1;
}

static double slowest(double own) {
    double most;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, US);
    return most;
}

/* Seconds of so many steps of a message and a calculation. */
static double steps(const char *kind, char *mine, char *all, int bytes, long count, long work) {
    MPI_Barrier(US);
    double began = now();
    for (long at = 0; at < count; at++) {
        MPI_Request message = MPI_REQUEST_NULL;
        int root = at % 2;
        if (!kind) { /* the calculation alone */
        } else if (is(kind, "overlap-broadcast")) MPI_Ibcast(mine, bytes, MPI_BYTE, root, US, &message);
        else if (is(kind, "overlap-allreduce")) MPI_Iallreduce(mine, all, bytes / sizeof(double), MPI_DOUBLE, MPI_SUM, US, &message);
        else if (rank == root) MPI_Isend(mine, bytes, MPI_BYTE, 1 - rank, 4, US, &message);
        else MPI_Irecv(mine, bytes, MPI_BYTE, root, 4, US, &message);
        calculate(work);
        MPI_Wait(&message, ANY);
    }
    return slowest(now() - began);
}

static double overlap(const char *kind, char *mine, char *all, int bytes, long count, double *values) {
    long work = steps_of(link_time(bytes));
    double before = steps(NULL, mine, all, bytes, count, work);
    double alone = steps(kind, mine, all, bytes, count, 0);
    double total = steps(kind, mine, all, bytes, count, work);
    double calculation = (before + steps(NULL, mine, all, bytes, count, work)) / 2;
    values[0] = total / count;
    values[1] = (total - calculation) / alone;
    return total;
}

/* Short messages to and fro until a long one from rank 0 has left. */
static double beside(char *buffer, int bytes, double *values) {
    static double samples[1 << 20];
    size_t count = 0;
    int last = 0;
    long ping = 0;
    MPI_Request bulk;
    MPI_Barrier(US);
    double began = now();
    if (rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, 1, 5, US, &bulk);
    else MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 5, US, &bulk);
    while (!last) {
        double sent = now();
        if (rank == 0) {
            MPI_Test(&bulk, &last, ANY);
            ping = last;
        }
        ping_pong((char *)&ping, sizeof ping);
        last = ping;
        if (count < sizeof samples / sizeof *samples) samples[count++] = (now() - sent) / 2;
    }
    MPI_Wait(&bulk, ANY);
    quantiles(samples, count, values);
    return now() - began;
}

static double cell(const char *kind, size_t bytes, long count, double *values) {
    int depth = is(kind, "stream") ? bytes < (1 << 19) ? (1 << 20) / bytes : 2 : 0;
    int parts = depth ? depth : is(kind, "alltoall") ? size : 2;
    char *mine = memory(bytes * parts), *all = memory(depth ? 0 : bytes * size);
    /* Sums of ones, and of what is no number elsewhere. */
    if (strstr(kind, "allreduce")) memset(mine, 0, bytes);
    MPI_Barrier(US);
    double began = now(), before = processor(), took, unit = count;
    if (is(kind, "pingpong")) {
        for (long at = 0; at < count; at++) ping_pong(mine, bytes);
        unit = 2.0 * count;
    } else if (is(kind, "exchange")) {
        for (long at = 0; at < count; at++) exchange(mine, bytes);
    } else if (is(kind, "rate") || is(kind, "posted")) {
        for (long at = 0; at < count; at++) row(mine, bytes, is(kind, "rate"));
        unit = (double)ROW * count;
    } else if (depth) {
        stream(mine, bytes, count, depth);
        double own = processor() - before, theirs = answer(own);
        values[1] = (own + theirs) / count;
        values[2] = count * (double)bytes;
    } else if (strncmp(kind, "overlap", 7) != 0 && !is(kind, "beside")) {
        for (long at = 0; at < count; at++)
            if (!collective(kind, mine, all, bytes, at % size)) fail("no such cell");
    }
    took = slowest(now() - began);
    if (strncmp(kind, "overlap", 7) == 0) took = overlap(kind, mine, all, bytes, count, values);
    else if (is(kind, "beside")) took = slowest(beside(mine, bytes, values));
    else values[0] = took / unit;
    free(mine);
    free(all);
    return took;
}

static void leave(int signal) {
    (void)signal;
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    begin(argv[1]);
    int level;
    MPI_Init_thread(&argc, &argv, getenv("PEERS_THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(US, &rank);
    MPI_Comm_size(US, &size);
    run(argv + 3);
    /* MPICH over UCX sometimes does not come back from here after long messages; all is measured and told by then. */
    fflush(stdout);
    signal(SIGALRM, leave);
    alarm(1);
    MPI_Finalize();
    return 0;
}
