/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names: matching, and the names of results. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "safetensors/recipe.h"

/* Reads the group at `text`, which begins with '{'. Returns its end; NULL: it is none. */
static const char *read_group(const char *text, int32_t *out_size) {
  const size_t length = strcspn(text + 1, "{}*");
  const char *end = text + 1 + length;
  int64_t size = 1;
  for (const char *c = text + 1; c < end; ++c) {
    size += *c == ',';
  }
  *out_size = (int32_t)(size <= RLO_CHAIN_MAX_PARTS ? size : RLO_CHAIN_MAX_PARTS + 1);
  return *end == '}' && length > 0 ? end + 1 : NULL;
}

static rlo_status add_group(const char **at, rlo__pattern *pattern) {
  if (pattern->num_groups == RLO_RECIPE_MAX_MARKS) {
    return RLO_FAIL(RLO_UNSUPPORTED, "it has more than %d groups", RLO_RECIPE_MAX_MARKS);
  }
  int32_t *size = &pattern->sizes[pattern->num_groups++];
  const char *end = read_group(*at, size);
  if (end == NULL) {
    return RLO_FAIL(RLO_PARSE, "a group is written {q,k,v}, with texts that have no *, { or }");
  }
  if ((int64_t)pattern->num_choices * *size > RLO_CHAIN_MAX_PARTS) {
    return RLO_FAIL(RLO_UNSUPPORTED, "its groups have more than %d texts or combinations of them",
                    RLO_CHAIN_MAX_PARTS);
  }
  pattern->num_choices *= *size;
  *at = end;
  return RLO_OK;
}

rlo_status rlo__pattern_parse(const char *text, rlo__pattern *out_pattern) {
  *out_pattern = (rlo__pattern){.text = rlo__alloc_string(text), .num_choices = 1};
  if (out_pattern->text == NULL) {
    return RLO_OUT_OF_MEMORY;
  }
  if (text[0] == '\0') {
    return RLO_FAIL(RLO_PARSE, "it is empty");
  }
  for (const char *at = text; *at != '\0';) {
    if (*at == '{') {
      RLO_TRY(add_group(&at, out_pattern));
      continue;
    }
    if (*at == '}') {
      return RLO_FAIL(RLO_PARSE, "a } has no {: a group is written {q,k,v}");
    }
    if (*at == '*' && ++out_pattern->num_stars > RLO_RECIPE_MAX_MARKS) {
      return RLO_FAIL(RLO_UNSUPPORTED, "it has more than %d stars", RLO_RECIPE_MAX_MARKS);
    }
    ++at;
  }
  return RLO_OK;
}

/* Writes the text of a group, counted from 0, and returns the group's end. */
static const char *append_choice(const char *group, int32_t n, rlo__str *out) {
  const char *text = group + 1;
  for (; n > 0; --n) {
    text += strcspn(text, ",") + 1;
  }
  rlo__str_append_bytes(out, text, strcspn(text, ",}"));
  return text + strcspn(text, "}") + 1;
}

void rlo__pattern_write(const rlo__pattern *pattern, int32_t choice, const rlo__match *match,
                        rlo__str *out) {
  int32_t star = 0;
  int32_t group = 0;
  int32_t rest = pattern->num_choices;
  for (const char *at = pattern->text; *at != '\0';) {
    if (*at == '{') {
      /* The last group varies fastest. */
      rest /= pattern->sizes[group];
      at = append_choice(at, choice / rest % pattern->sizes[group++], out);
    } else if (*at == '*' && match != NULL) {
      rlo__str_append_bytes(out, match->begin[star], match->length[star]);
      ++star;
      ++at;
    } else {
      rlo__str_append_char(out, *at++);
    }
  }
}

bool rlo__match_name(const char *stars, const char *name, rlo__match *out_match) {
  /* Where the text behind the last star stands, and what is tried for it. Only the
   * last star grows: if the text behind an earlier one is there, it is there first. */
  const char *behind = NULL;
  const char *tried = NULL;
  int32_t star = -1;
  while (*name != '\0' || *stars != '\0') {
    if (*stars == '*') {
      out_match->begin[++star] = name;
      out_match->length[star] = 0;
      behind = ++stars;
      tried = name;
    } else if (*name != '\0' && *stars == *name) {
      ++stars;
      ++name;
    } else if (star >= 0 && *tried != '\0') {
      stars = behind;
      name = ++tried;
      ++out_match->length[star];
    } else {
      return false;
    }
  }
  return true;
}
