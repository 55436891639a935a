/* Plain SQLite with scripts: what somebody measures by hand.
 *
 *   own_plain FILE CACHE_KIB WARM_SECONDS SECONDS SEED SCRIPT@WEIGHT...
 *   own_plain turns FILE FILE CACHE_KIB SLICE_SECONDS[,...] SECONDS SEED SCRIPT@WEIGHT...
 *
 * FILE is read through the OS's page cache and changed. Prints the transactions a second. With `turns`
 * two files take turns, in blocks of 40 s (or a pair of slices, if that is longer) with one length of a slice after the
 * other: a line for each block has that length, and the transactions a second of both files. A script is a transaction in the part of pgbench's language that
 * own-databases.py uses: "\set NAME random(FROM, TO)" or "random_zipfian(FROM, TO, S)", then
 * statements, one a line.
 */
#include "sqlite3.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 32

struct draw { char name[32]; double from, to, skew; sqlite3_int64 value; };
struct script {
    struct draw draws[MOST];
    int draw_count;
    sqlite3_stmt *statements[MOST];
    int statement_count;
    double until; /* the share of all weights up to this script's */
};
struct copy { sqlite3 *database; struct script scripts[MOST]; int script_count; double weights; };

static sqlite3 *database; /* of the copy that runs */
static unsigned long long state;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, database ? sqlite3_errmsg(database) : "");
    exit(1);
}

/* xorshift64* (Vigna 2016), 0 to below 1. */
static double uniform(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)(state * 2685821657736338717ULL >> 11) / 9007199254740992.0;
}

/* By rejection, as Devroye (1986), p. 550 gives it, and pgbench has it: skew above 1. */
static double zipfian(double count, double skew)
{
    double b = pow(2.0, skew - 1.0), x, t, u, v;
    do {
        u = 1.0 - uniform();
        v = uniform();
        x = floor(pow(u, -1.0 / (skew - 1.0)));
        t = pow(1.0 + 1.0 / x, skew - 1.0);
    } while (v * x * (t - 1.0) / (b - 1.0) > t / b || x > count);
    return x;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void load(struct script *script, char *path)
{
    char line[2048];
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    while (fgets(line, sizeof line, file)) {
        struct draw *draw = &script->draws[script->draw_count];
        if (line[0] == '\n' || line[0] == '-')
            continue;
        if (script->draw_count == MOST || script->statement_count == MOST)
            fail("too long");
        if (sscanf(line, "\\set %31s random(%lf, %lf)", draw->name + 1, &draw->from, &draw->to) == 3
            || sscanf(line, "\\set %31s random_zipfian(%lf, %lf, %lf)", draw->name + 1, &draw->from,
                      &draw->to, &draw->skew) == 4) {
            draw->name[0] = ':';
            script->draw_count++;
        } else if (sqlite3_prepare_v3(database, line, -1, SQLITE_PREPARE_PERSISTENT,
                                      &script->statements[script->statement_count++], 0)) {
            fail(line);
        }
    }
    fclose(file);
}

static void run(struct script *script)
{
    for (int i = 0; i < script->draw_count; i++) {
        struct draw *draw = &script->draws[i];
        double count = draw->to - draw->from + 1.0;
        double drawn = draw->skew > 0.0 ? zipfian(count, draw->skew) - 1.0 : floor(uniform() * count);
        draw->value = (sqlite3_int64)(draw->from + drawn);
    }
    for (int i = 0; i < script->statement_count; i++) {
        sqlite3_stmt *statement = script->statements[i];
        int got;
        for (int j = 0; j < script->draw_count; j++) {
            int place = sqlite3_bind_parameter_index(statement, script->draws[j].name);
            if (place)
                sqlite3_bind_int64(statement, place, script->draws[j].value);
        }
        while ((got = sqlite3_step(statement)) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++)
                sqlite3_column_text(statement, column);
        if (got != SQLITE_DONE)
            fail(sqlite3_sql(statement));
        sqlite3_reset(statement);
    }
}

static void open_copy(struct copy *copy, const char *file, const char *cache_kib, char **words)
{
    char settings[256];
    if (sqlite3_open_v2(file, &database, SQLITE_OPEN_READWRITE, 0))
        fail(file);
    copy->database = database;
    snprintf(settings, sizeof settings,
             "PRAGMA cache_size=-%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
             "PRAGMA temp_store=MEMORY;", atoi(cache_kib));
    if (sqlite3_exec(database, settings, 0, 0, 0))
        fail(settings);
    for (; *words && copy->script_count < MOST; words++, copy->script_count++) {
        char path[1024];
        snprintf(path, sizeof path, "%s", *words);
        char *weight = strchr(path, '@');
        if (weight)
            *weight++ = 0;
        load(&copy->scripts[copy->script_count], path);
        copy->scripts[copy->script_count].until = copy->weights += weight ? atof(weight) : 1.0;
    }
}

/* Runs transactions until a time. Returns how many. */
static long run_until(struct copy *copy, double end)
{
    long done = 0;
    for (database = copy->database; now() < end; done++) {
        double drawn = uniform() * copy->weights;
        int chosen = 0;
        while (chosen < copy->script_count - 1 && drawn >= copy->scripts[chosen].until)
            chosen++;
        run(&copy->scripts[chosen]);
    }
    return done;
}

static void take_turns(struct copy *copies, char *lengths, double seconds)
{
    double end = now() + seconds;
    double slices[MOST];
    int count = 0;
    for (char *word = strtok(lengths, ","); word && count < MOST; word = strtok(0, ","))
        slices[count++] = atof(word);
    for (int block = 0; count && now() < end; block++) {
        double slice = slices[block % count], time[2] = {0.0, 0.0};
        long done[2] = {0, 0};
        for (int pair = 0; pair == 0 || pair < 20.0 / slice; pair++)
            for (int place = 0; place < 2; place++) {
                int side = (block + pair + place) % 2;
                double begin = now();
                done[side] += run_until(&copies[side], begin + slice);
                time[side] += now() - begin;
            }
        printf("%g %.2f %.2f\n", slice, (double)done[0] / time[0], (double)done[1] / time[1]);
        fflush(stdout);
    }
}

int main(int count, char **words)
{
    static struct copy copies[2];
    int is_in_turn = count > 1 && !strcmp(words[1], "turns");
    if (count < (is_in_turn ? 9 : 7))
        fail("own_plain FILE CACHE_KIB WARM_SECONDS SECONDS SEED SCRIPT@WEIGHT...");
    state = (unsigned long long)atoll(words[is_in_turn ? 7 : 5]) * 0x9E3779B97F4A7C15ULL | 1;
    if (is_in_turn) {
        for (int side = 0; side < 2; side++)
            open_copy(&copies[side], words[2 + side], words[4], words + 8);
        take_turns(copies, words[5], atof(words[6]));
        return 0;
    }
    open_copy(&copies[0], words[1], words[2], words + 6);
    run_until(&copies[0], now() + atof(words[3]));
    double begin = now();
    long done = run_until(&copies[0], begin + atof(words[4]));
    printf("%.2f\n", (double)done / (now() - begin));
    return 0;
}
