export { common as default } from 'lowlight'
