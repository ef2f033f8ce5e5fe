/* What a verdict says about its origin. */
#ifndef KFORGE_JUDGE_DESCRIBE_H
#define KFORGE_JUDGE_DESCRIBE_H

#include "input_secret.h"
#include "kforge/build.h"
#include "kforge/judge.h"

/* Sets the verdict's "build": flags, seconds, log and the compiler's report. Sets its hashes, too.
 * False without memory. */
bool kf_judge_describe_build(kf_verdict *verdict, const kf_job *job, const kf_build *build);
/* Sets the verdict's "provenance": versions, device, options, sandbox layers and the key of the
 * inputs. `layers` are bits of kf_sandbox_layer. False without memory. */
bool kf_judge_describe_origin(kf_verdict *verdict, const kf_judge *judge, const kf_job *job,
                              const kf_secret *secret, int layers);

#endif
