/*
 * cpu.h - which vector instructions the text layer uses.
 *
 * AGZ_CPU=scalar|sse2|avx2|neon in the environment switches the better ones off; a level
 * that the machine does not have is not used whatever the variable says.
 */
#ifndef AGZ_TEXT_CPU_H
#define AGZ_TEXT_CPU_H

#if defined(__x86_64__) && defined(__GNUC__)
#define AGZ__X86         1
#define AGZ__TARGET_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#define AGZ__NEON 1
#endif

enum agz__cpu {
	AGZ__CPU_UNKNOWN = 0,
	AGZ__CPU_SCALAR = 1,
	AGZ__CPU_BASE = 2, /* SSE2 or NEON, which every machine of its kind has */
	AGZ__CPU_AVX2 = 3
};

/* Found out at the first call; thread-safe. */
enum agz__cpu agz__cpu(void);

/* For tests: look at the environment again at the next call. */
void agz__cpu_forget(void);

#endif
