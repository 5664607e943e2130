/*
 * engine_zlib.c - zlib: streams both ways, and the reference for what is valid.
 */
#include <zlib.h>

#define Z(name)    name
#define Z_STREAM   z_stream
#define Z_ENGINE   agz__engine_zlib
#define Z_INFLATER agz__inflater_zlib
#define Z_NAME     "zlib"
#define Z_VERSION  ZLIB_VERSION
#define Z_SPAN_MAX UINT32_MAX

#include "codec/zlib_template.h"
