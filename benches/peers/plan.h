/* What every peer in C does: goes through a plan of cells, KIND:BYTES:MILLISECONDS, and prints what each took. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Messages of a row that the reader answers at its end. */
#define ROW 1000
/* Values that a cell gives, at most. */
#define VALUES 4

/* Given by the peer: its rank; a count of rank 0 for all ranks; and a cell, done `count` times. A cell
   puts its values into `values`, in seconds per unit, and returns the seconds that all of it took. */
static int rank;
static long agree(long count);
static double cell(const char *kind, size_t bytes, long count, double *values);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Seconds of processor that this process has had. */
static double processor(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    exit(1);
}

static void *memory(size_t bytes) {
    void *block = malloc(bytes ? bytes : 1);
    if (!block) fail("no memory");
    memset(block, 1, bytes);
    return block;
}

/* A calculation that touches nothing but registers: as many steps as take so long alone. */
static void calculate(long steps) {
    volatile unsigned long state = 1;
    unsigned long own = state;
    for (long at = 0; at < steps; at++) {
        own = own * 6364136223846793005 + 1;
        __asm__ volatile("" : "+r"(own));
    }
    state = own;
}

static long steps_of(double seconds) {
    static double step;
    for (int turn = 0; turn < 5; turn++) {
        double began = now();
        calculate(1000000);
        double own = 1e-6 * (now() - began);
        if (!step || own < step) step = own;
    }
    return seconds / step;
}

/* What the link needs for so many bytes, in seconds. */
static double link_time(size_t bytes) {
    const char *rate = getenv("PEERS_RATE");
    return rate ? bytes / atof(rate) : 1e-3;
}

static int less(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The median and the 99th percentile. */
static void quantiles(double *samples, size_t count, double *values) {
    qsort(samples, count, sizeof *samples, less);
    values[0] = samples[count / 2];
    values[1] = samples[(size_t)(0.99 * (count - 1))];
}

/* Ends with whoever started it, and after `seconds` at the latest; stays on the core that PEERS_CORES names for it,
   a list of one per rank. */
static void begin(const char *seconds) {
    const char *names[] = {"PEERS_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}, *own = NULL;
    for (int at = 0; at < 3 && !own; at++) own = getenv(names[at]);
    rank = own ? atoi(own) : 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(atoi(seconds));
    const char *cores = getenv("PEERS_CORES");
    for (int at = 0; cores && at < rank; at++) {
        cores = strchr(cores, ',');
        cores = cores ? cores + 1 : NULL;
    }
    if (cores && *cores) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(atoi(cores), &one);
        if (sched_setaffinity(0, sizeof one, &one)) fail("this core is not ours");
    }
}

/* Does each cell more and more often, until it takes as long as it should. What came before has warmed up; what takes far
   longer needs not. */
static void run(char **plan) {
    for (; *plan; plan++) {
        char kind[32];
        size_t bytes;
        double milliseconds, values[VALUES];
        if (sscanf(*plan, "%31[^:]:%zu:%lf", kind, &bytes, &milliseconds) != 3) fail("a plan is KIND:BYTES:MILLISECONDS");
        for (long count = 1, turn = 0, next = 1; next; count = next, turn++) {
            memset(values, 0, sizeof values);
            double took = cell(kind, bytes, count, values), target = milliseconds * 1e-3;
            double scale = took > 0 && target / took < 8 ? target / took : 8;
            next = took < 0.6 * target ? (long)(count * scale) + 1 : turn == 0 && took < 4 * target ? count : 0;
            /* What lasts as long as a long message is done twice, however long that is. */
            if (!strcmp(kind, "beside")) next = turn == 0;
            next = agree(next);
        }
        if (rank == 0) {
            printf("%s:%zu", kind, bytes);
            for (int at = 0; at < VALUES; at++) printf("\t%.9g", values[at]);
            printf("\n");
        }
    }
}
