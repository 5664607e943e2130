/*
 * engine_zlibng.c - zlib-ng by its native interface: streams both ways.
 */
typedef int agz__not_empty; /* ISO C wants something in every file */

#ifdef AGZ_HAVE_ZLIBNG
#include <zlib-ng.h>

#define Z(name)    zng_##name
#define Z_STREAM   zng_stream
#define Z_ENGINE   agz__engine_zlibng
#define Z_INFLATER agz__inflater_zlibng
#define Z_NAME     "zlib-ng"
#define Z_VERSION  ZLIBNG_VERSION
#define Z_SPAN_MAX UINT32_MAX

#include "codec/zlib_template.h"
#endif
