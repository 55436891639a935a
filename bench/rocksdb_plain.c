/* YCSB C or A on RocksDB in a loop: what somebody writes for a comparison.
 *
 *   rocksdb_plain DATABASE c|a SECONDS WARM_SECONDS SEED MEMORY_MIB BLOCK_KIB
 *
 * DATABASE is a copy of a directory that Octavo loaded with YCSB. It is opened with the options that Octavo's
 * conditions state: direct I/O, a block cache of three quarters of the memory with blocks of indexes and
 * filters, a quarter for write buffers, Bloom filters of 10 bits. There are no transactions: a read finds a
 * record and looks at all characters of its fields; an update reads it, replaces its first field and writes
 * it with a flush of the log. Keys are drawn uniformly. Prints JSON: operations, seconds, seconds of a
 * processor, bytes read.
 */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static unsigned long long state;

static unsigned long long next(void) /* xorshift64* (Vigna 2016) */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(char *error)
{
    if (error) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    if (count < 8)
        return 2;
    int updates = arguments[2][0] == 'a';
    double seconds = atof(arguments[3]), warm = atof(arguments[4]), begun, measured = 0;
    state = strtoull(arguments[5], NULL, 10) * 2 + 1;
    size_t memory = strtoull(arguments[6], NULL, 10) << 20, block = strtoull(arguments[7], NULL, 10) << 10;
    size_t buffers = memory / 4;
    char *error = NULL;
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_lru_cache_options_t *lru = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(lru, memory - buffers);
    int bits = 0; /* shards of 32 MiB at least, as Octavo has them */
    while (bits < 6 && (memory - buffers) >> (bits + 1) >= 32 << 20)
        bits++;
    rocksdb_lru_cache_options_set_num_shard_bits(lru, bits);
    rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru_opts(lru));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_block_size(table, block);
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_use_direct_reads(options, 1);
    rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, 1);
    rocksdb_options_set_db_write_buffer_size(options, buffers);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_enable_statistics(options);
    const char *names[] = {"usertable", "default"};
    const rocksdb_options_t *all[] = {options, options};
    rocksdb_column_family_handle_t *families[2];
    rocksdb_t *db = rocksdb_open_column_families(options, arguments[1], 2, names, all, families, &error);
    check(error);
    rocksdb_readoptions_t *read = rocksdb_readoptions_create(), *scan = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(scan, 0);
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(write, 1);
    struct key { char *bytes; size_t length; } *keys = NULL;
    size_t rows = 0, room = 0, length;
    rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(db, scan, families[0]);
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
        const char *key = rocksdb_iter_key(iterator, &length);
        if (rows == room)
            keys = realloc(keys, (room = room ? 2 * room : 1024) * sizeof *keys);
        keys[rows].bytes = memcpy(malloc(length), key, length);
        keys[rows++].length = length;
    }
    rocksdb_iter_destroy(iterator);
    static char copy[1 << 16];
    unsigned long long operations = 0, sum = 0;
    struct rusage before = {0}, after;
    begun = now();
    for (;;) {
        if (operations % 64 == 0 && !measured && now() - begun >= warm) {
            getrusage(RUSAGE_SELF, &before);
            measured = now();
            operations = 0;
        } else if (operations % 64 == 0 && measured && now() - measured >= seconds) {
            break;
        }
        const struct key *wanted = &keys[next() % rows];
        int is_update = updates && next() >> 63;
        rocksdb_pinnableslice_t *found =
            rocksdb_get_pinned_cf(db, read, families[0], wanted->bytes, wanted->length, &error);
        check(error);
        const char *value = rocksdb_pinnableslice_value(found, &length);
        if (is_update) {
            memcpy(copy, value, length);
            for (int at = 0; at < 100; at++)
                copy[2 + at] = 'a' + next() % 26; /* behind the field's kind and length */
            rocksdb_put_cf(db, write, families[0], wanted->bytes, wanted->length, copy, length, &error);
            check(error);
        } else {
            for (size_t at = 0; at < length; at++)
                sum += ((const unsigned char *)value)[at];
        }
        rocksdb_pinnableslice_destroy(found);
        operations++;
    }
    double elapsed = now() - measured;
    getrusage(RUSAGE_SELF, &after);
#define PASSED(time) (after.time.tv_sec - before.time.tv_sec + (after.time.tv_usec - before.time.tv_usec) / 1e6)
    printf("{\"operations\": %llu, \"seconds\": %.6f, \"cpu_s\": %.6f, \"read\": %ld, \"sum\": %llu}\n",
           operations, elapsed, PASSED(ru_utime) + PASSED(ru_stime),
           (after.ru_inblock - before.ru_inblock) * 512, sum);
    rocksdb_column_family_handle_destroy(families[0]);
    rocksdb_column_family_handle_destroy(families[1]);
    rocksdb_close(db);
    return 0;
}
