// Numbers for people, by the rules of mfbandit.formatting: pages, reports and terminals say the same.

const THOUSANDS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A number in Python's format "g": so many significant digits, and no trailing zeros. */
export function general(value, digits) {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(digits - 1).split("e")[1]);
  if (exponent < -4 || exponent >= digits) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    const size = Math.abs(Number(power));
    return `${short}e${Number(power) < 0 ? "-" : "+"}${size < 10 ? "0" : ""}${size}`;
  }
  const fixed = value.toFixed(Math.max(0, digits - 1 - exponent));
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

/** A cost or a mean: thousands separated, a few digits; null is "-". */
export function amount(value, digits = 4) {
  if (value === null || value === undefined) return "-";
  if (Math.abs(value) >= 10 ** (digits - 1)) return THOUSANDS.format(value);
  return general(value, digits);
}

/** A confidence, never rounded up. */
export function floored(value) {
  return value >= 1 ? "1" : general(Math.floor(value * 1e4 + 1e-9) / 1e4, 6);
}

export function count(value) {
  return THOUSANDS.format(value);
}

/** A time in the unit that suits it. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86400 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
}

/** A name on one line, with what cannot be seen made visible, and not too long. */
export function shown(name, widest = 60) {
  const plain = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (letter) => `\\u${letter.codePointAt(0).toString(16).padStart(4, "0")}`);
  const letters = [...plain];
  return letters.length <= widest ? plain : `${letters.slice(0, widest - 1).join("")}…`;
}
