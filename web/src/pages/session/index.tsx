export default function Session() {
  return null
}
