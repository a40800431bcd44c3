/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RLO_TESTS_SUPPORT_SANITIZED_H
#define RLO_TESTS_SUPPORT_SANITIZED_H

/** True if this is a build for a sanitizer, where time tells nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define TEST_IS_SANITIZED 1
#endif
#endif
#ifndef TEST_IS_SANITIZED
#define TEST_IS_SANITIZED 0
#endif

/** True if a limit of time tells something of the code: not under a sanitizer,
 * nor by a processor that is emulated (RLO__TESTS_ARE_EMULATED of
 * tests/CMakeLists.txt). */
#if defined(RLO__TESTS_ARE_EMULATED)
#define TEST_TIMES_COUNT 0
#else
#define TEST_TIMES_COUNT (!TEST_IS_SANITIZED)
#endif

#endif
