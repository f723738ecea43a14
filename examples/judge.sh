#!/bin/sh
# A stand-in for a real judge: prints 1 if it likes one answer of a prompt, 0 if not.
# It gets the prompt, the name of the judge and a seed as arguments (and as MFBANDIT_ARM,
# MFBANDIT_FIDELITY and MFBANDIT_SEED). The last line that it prints is the reward.
set -eu
prompt=$1 judge=$2 seed=$3

case $prompt in
    "plain") liked=35 ;;
    "step by step") liked=85 ;;
    "with examples") liked=60 ;;
    *) echo "no such prompt: $prompt" >&2; exit 2 ;;
esac
# The small judge is not quite right.
if [ "$judge" = "small judge" ]; then liked=$((liked - 4)); fi

# A number from 0 to 99 that depends on the pull and its seed only: a repeated pull gives the same reward.
draw=$(printf '%s|%s|%s' "$prompt" "$judge" "$seed" | cksum | cut -d ' ' -f 1)
echo "asked $judge about $prompt" >&2
if [ $((draw % 100)) -lt "$liked" ]; then echo 1; else echo 0; fi
