/* Latencies counted in HdrHistogram's buckets, and its V2 encoding (DEFLATE, base64).
 *
 * Debian stable has no HdrHistogram for C, so its documented format is written here: a header, and the counts
 * as ZigZag LEB128 numbers, of which a negative one stands for so many zeros (HdrHistogram's V2 format).
 */
#include "histogram.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "failure.h"

enum {
    HALF_MAGNITUDE = 10,
    HALF_COUNT = 1 << HALF_MAGNITUDE, /* 2 * HALF_COUNT buckets resolve three digits */
    BUCKETS = 32,
    LENGTH = (BUCKETS + 1) * HALF_COUNT,
    HEADER = 40,
    COOKIE_V2 = 0x1c849313,
    COOKIE_V2_COMPRESSED = 0x1c849314,
    LONGEST_NUMBER = 5,
};

static const uint64_t HIGHEST_NS = 3600ULL * 1000 * 1000 * 1000;

void histogram_record(struct histogram *histogram, uint64_t value_ns)
{
    if (histogram->counts == NULL)
        histogram->counts = allocate(LENGTH * sizeof *histogram->counts);
    uint64_t value = value_ns > HIGHEST_NS ? HIGHEST_NS : value_ns;
    int bucket = 64 - __builtin_clzll(value | (2 * HALF_COUNT - 1)) - (HALF_MAGNITUDE + 1);
    size_t place = ((size_t)(bucket + 1) << HALF_MAGNITUDE) + (size_t)(value >> bucket) - HALF_COUNT;
    histogram->counts[place]++;
    histogram->total++;
}

void histogram_add(struct histogram *sum, const struct histogram *part)
{
    if (part->total == 0)
        return;
    if (sum->counts == NULL)
        sum->counts = allocate(LENGTH * sizeof *sum->counts);
    for (size_t i = 0; i < LENGTH; i++)
        sum->counts[i] += part->counts[i];
    sum->total += part->total;
}

void histogram_clear(struct histogram *histogram)
{
    if (histogram->counts != NULL)
        memset(histogram->counts, 0, LENGTH * sizeof *histogram->counts);
    histogram->total = 0;
}

static uint8_t *put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (uint8_t)(number >> (8 * i));
    return at;
}

static uint8_t *put_zigzag(uint8_t *at, int64_t number)
{
    uint64_t left = ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
    for (; left > 0x7f; left >>= 7)
        *at++ = (uint8_t)(left | 0x80);
    *at++ = (uint8_t)left;
    return at;
}

static uint8_t *put_counts(uint8_t *at, const uint32_t *counts)
{
    size_t length = LENGTH;
    while (length > 0 && counts[length - 1] == 0)
        length--;
    for (size_t i = 0; i < length;) {
        size_t zeros = 0;
        while (i + zeros < length && counts[i + zeros] == 0)
            zeros++;
        at = zeros > 0 ? put_zigzag(at, zeros == 1 ? 0 : -(int64_t)zeros) : put_zigzag(at, counts[i]);
        i += zeros > 0 ? zeros : 1;
    }
    return at;
}

static char *base64(const uint8_t *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = allocate((length + 2) / 3 * 4 + 1), *at = text;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *at++ = digits[three >> 18];
        *at++ = digits[three >> 12 & 63];
        *at++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[three & 63] : '=';
    }
    return text;
}

char *histogram_encoded(const struct histogram *histogram)
{
    uint8_t *plain = allocate(HEADER + LENGTH * LONGEST_NUMBER);
    uint8_t *end = put_counts(plain + HEADER, histogram->counts);
    double ratio = 1.0;
    uint64_t ratio_bits;
    memcpy(&ratio_bits, &ratio, sizeof ratio_bits);
    uint8_t *at = put(plain, COOKIE_V2, 4);
    at = put(at, (uint64_t)(end - plain - HEADER), 4);
    at = put(at, 0, 4); /* normalizing index offset */
    at = put(at, 3, 4); /* significant digits */
    at = put(at, 1, 8); /* lowest value */
    at = put(at, HIGHEST_NS, 8);
    put(at, ratio_bits, 8);
    uLongf size = compressBound((uLong)(end - plain));
    uint8_t *packed = allocate(8 + size);
    if (compress(packed + 8, &size, plain, (uLong)(end - plain)) != Z_OK)
        abort();
    put(put(packed, COOKIE_V2_COMPRESSED, 4), size, 4);
    char *text = base64(packed, 8 + size);
    free(plain);
    free(packed);
    return text;
}
