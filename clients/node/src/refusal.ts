/** Why a call ended with an error: its code, and what google.rpc.Status says beside it. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";

import { Duration } from "./gen/google/protobuf/duration.js";
import { milliseconds, oneLine } from "./text.js";

export interface Refusal {
  readonly code: status;
  /** A name of ErrorReason without its prefix; empty if the error says none. */
  readonly reason: string;
  readonly text: string;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfter: number;
}

/** Codes that another attempt does not mend. Every other one, also a new one, may pass. */
const FINAL: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
]);

/** Tells whether another attempt is no use. A limit of ronda that passes says when to come back. */
export const isFinal = ({ code, reason, retryAfter }: Refusal): boolean =>
  FINAL.has(code) || (code === status.RESOURCE_EXHAUSTED && reason !== "" && retryAfter === 0);

export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && "code" in error && "details" in error && "metadata" in error;

/** What grpc-js says at the end where it has nothing to say of how the address was resolved. */
const EMPTY_NOTE = /\.?\s*Resolution note:\s*$/;

/** Reads the error of a call. */
export function refusal(error: ServiceError): Refusal {
  const { reason, retryAfter } = details(error.metadata);
  const name = reason || status[error.code] || `code ${error.code}`;
  const said = oneLine(error.details).replace(EMPTY_NOTE, "");
  return { code: error.code, reason, retryAfter, text: `${name}: ${said}` };
}

function details(metadata: Metadata): { reason: string; retryAfter: number } {
  const found = { reason: "", retryAfter: 0 };
  const [packed] = metadata.get("grpc-status-details-bin");
  if (!Buffer.isBuffer(packed)) return found;
  try {
    for (const any of parts(packed, 3)) {
      const type = string(parts(any, 1)[0]).split("/").at(-1);
      const [value] = parts(any, 2);
      if (!value) continue;
      if (type === "google.rpc.ErrorInfo" && string(parts(value, 2)[0]) === "ronda.v1")
        found.reason = oneLine(string(parts(value, 1)[0]));
      const [delay] = type === "google.rpc.RetryInfo" ? parts(value, 1) : [];
      if (delay) found.retryAfter = milliseconds(Duration.decode(delay));
    }
  } catch {
    // Not what it says it is: the code still counts.
  }
  return found;
}

/** Returns the values of one field, which is a string, bytes or a message. */
function parts(message: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type, number);
  }
  return found;
}

const string = (bytes: Uint8Array | undefined): string =>
  bytes ? Buffer.from(bytes).toString("utf8") : "";
