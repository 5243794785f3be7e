/** Types for the parts of dns-packet that the scripted DNS server and the codec's tests use. */
declare module 'dns-packet' {
  export interface Packet {
    id?: number;
    type?: 'query' | 'response';
    flags?: number;
    rcode?: string;
    flag_tc?: boolean;
    flag_ad?: boolean;
    questions?: Question[];
    answers?: PacketRecord[];
    authorities?: PacketRecord[];
    additionals?: PacketRecord[];
  }

  export interface Question {
    name: string;
    type: string;
    class?: string;
  }

  export interface PacketRecord {
    name: string;
    type: string;
    ttl?: number;
    class?: string;
    data?: unknown;
    flags?: number;
    udpPayloadSize?: number;
  }

  export const AUTHENTIC_DATA: number;
  export const DNSSEC_OK: number;
  export const RECURSION_AVAILABLE: number;
  export const RECURSION_DESIRED: number;
  export const TRUNCATED_RESPONSE: number;

  export function encode(packet: Packet): Buffer;
  export function decode(bytes: Buffer): Packet;
}
