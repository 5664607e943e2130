/*
 * bytes.h - little-endian numbers in memory of any alignment.
 */
#ifndef AGZ_BASE_BYTES_H
#define AGZ_BASE_BYTES_H

#include <stdint.h>

static inline uint32_t agz__load32(const uint8_t *ptr)
{
	return ptr[0] | (uint32_t)ptr[1] << 8 | (uint32_t)ptr[2] << 16 |
	       (uint32_t)ptr[3] << 24;
}

static inline void agz__store32(uint8_t *ptr, uint32_t value)
{
	ptr[0] = (uint8_t)value;
	ptr[1] = (uint8_t)(value >> 8);
	ptr[2] = (uint8_t)(value >> 16);
	ptr[3] = (uint8_t)(value >> 24);
}

#endif
